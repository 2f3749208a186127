//! Canonical JSON (RFC 8785), so that each value has exactly one text to sign.
//!
//! Members are sorted by name, there is no white space, and all numbers are integers. Within these
//! limits, Python writes the same text with
//! `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`.

#[cfg(test)]
mod tests;

use serde_json::Value;

/// The canonical text of `value`. Returns `None` if the value contains a number that is not an
/// integer, or a member name that is not ASCII. Nothing that we sign contains those, and other
/// implementations sort and write them differently.
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
            // The map's own order depends on a feature of serde_json.
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
