//! What text from outside must satisfy before any rule looks at it.

use crate::Refusal;

/// The longest title, in bytes.
pub const TITLE_BYTES_MAX: usize = 300;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 256 * 1024;
/// The longest reason or feedback, in bytes.
pub const REASON_BYTES_MAX: usize = 16 * 1024;

/// The longest answer, in bytes of its JSON.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// How deep the lists and objects of an answer can be in each other. JSON readers give up at 128,
/// and rows and outcomes put an answer some levels deeper than it came.
pub const JSON_DEPTH_MAX: usize = 64;

/// Refuses a value that is nothing, is too long, is nested too deep, or holds U+0000.
pub fn check_json(field: &'static str, value: &serde_json::Value) -> Result<(), Refusal> {
    if value.is_null() {
        return Err(Refusal::invalid(field, "is null; say something"));
    }
    check_depth(field, value)?;
    if holds_nul(value) {
        return Err(Refusal::invalid(field, "holds the character U+0000, which cannot be stored; remove it"));
    }
    match value.as_str() {
        Some(text) => check_filled(field, text, ANSWER_BYTES_MAX),
        None => check(field, &value.to_string(), ANSWER_BYTES_MAX),
    }
}

/// The text of a value from outside, as it is recorded. Refuses one that is nested too deep.
pub fn json(field: &'static str, value: &serde_json::Value) -> Result<String, Refusal> {
    check_depth(field, value)?;
    Ok(value.to_string())
}

fn check_depth(field: &'static str, value: &serde_json::Value) -> Result<(), Refusal> {
    if is_deeper(value, JSON_DEPTH_MAX) {
        let problem = format!("is nested too deep; at most {JSON_DEPTH_MAX} levels are allowed");
        return Err(Refusal::invalid(field, problem));
    }
    Ok(())
}

fn is_deeper(value: &serde_json::Value, levels: usize) -> bool {
    let mut inner: Box<dyn Iterator<Item = &serde_json::Value>> = match value {
        serde_json::Value::Array(items) => Box::new(items.iter()),
        serde_json::Value::Object(fields) => Box::new(fields.values()),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => return false,
    };
    levels == 0 || inner.any(|value| is_deeper(value, levels - 1))
}

/// Whether U+0000, which PostgreSQL cannot store, is anywhere in a value.
pub fn holds_nul(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(items) => items.iter().any(holds_nul),
        serde_json::Value::Object(fields) => fields.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

/// Refuses text that is too long, or that holds U+0000, which PostgreSQL cannot store.
pub fn check(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.len() > bytes_max {
        return Err(Refusal::invalid(field, format!("is {} bytes long; at most {bytes_max} are allowed", text.len())));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(field, "holds the character U+0000, which cannot be stored; remove it"));
    }
    Ok(())
}

/// As [`check`], and refuses text with nothing in it.
pub fn check_filled(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid(field, "is empty"));
    }
    check(field, text, bytes_max)
}

/// The text, cut to so many bytes, without what PostgreSQL cannot store: for what must be recorded
/// whatever it says.
pub fn shortened(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max).replace('\0', "\u{fffd}")
}

/// The beginning of a text, at most so many bytes of it, without splitting a character.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// How much of a text stands in a title.
const HEADLINE_CHARS: usize = 72;

/// The first line of a text, as long as fits into a list.
pub fn headline(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(HEADLINE_CHARS).collect()
}
