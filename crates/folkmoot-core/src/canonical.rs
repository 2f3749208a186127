//! JSON in one form only (RFC 8785), so that there is one text to sign.
//!
//! Members in the order of their names, no space between anything, and only integers for numbers:
//! then the form is what
//! `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)` writes in Python.

#[cfg(test)]
mod tests;

use serde_json::Value;

/// The one form of `value`; `None` where it has a number that is no integer, or a name that is not
/// ASCII: nothing that we sign has, and others order and write those differently.
pub fn canonical(value: &Value) -> Option<String> {
    let mut text = String::new();
    write(value, &mut text)?;
    Some(text)
}

fn write(value: &Value, text: &mut String) -> Option<()> {
    match value {
        Value::Number(number) if !number.is_i64() && !number.is_u64() => return None,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Array(items) => {
            text.push('[');
            for (n, item) in items.iter().enumerate() {
                text.push_str(if n == 0 { "" } else { "," });
                write(item, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            // Whatever order the map has.
            members.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (n, (name, member)) in members.into_iter().enumerate() {
                if !name.is_ascii() {
                    return None;
                }
                text.push_str(if n == 0 { "" } else { "," });
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write(member, text)?;
            }
            text.push('}');
        }
    }
    Some(())
}
