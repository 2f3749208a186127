//! Checks for text and JSON from outside: length, nesting, and characters that cannot be stored.

use crate::Refusal;

/// The longest title, in bytes.
pub const TITLE_BYTES_MAX: usize = 300;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 256 * 1024;
/// The longest reason or feedback, in bytes.
pub const REASON_BYTES_MAX: usize = 16 * 1024;

/// The longest answer, in bytes of its JSON.
pub const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// How deep the lists and objects of an answer can be nested. JSON parsers give up at 128 levels,
/// and rows and outcomes nest an answer some levels deeper than it came.
pub const JSON_DEPTH_MAX: usize = 64;

/// Refuses a value that is null, is empty text, is too long, is nested too deep, or contains
/// U+0000.
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

/// Writes a value from outside as the text that is recorded. Refuses a value that is nested too
/// deep.
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

/// Whether a value contains U+0000 anywhere. PostgreSQL cannot store that character.
pub fn holds_nul(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains('\0'),
        serde_json::Value::Array(items) => items.iter().any(holds_nul),
        serde_json::Value::Object(fields) => fields.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => false,
    }
}

/// Refuses text that is too long or contains U+0000, which PostgreSQL cannot store.
pub fn check(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.len() > bytes_max {
        return Err(Refusal::invalid(field, format!("is {} bytes long; at most {bytes_max} are allowed", text.len())));
    }
    if text.contains('\0') {
        return Err(Refusal::invalid(field, "holds the character U+0000, which cannot be stored; remove it"));
    }
    Ok(())
}

/// Like [`check`], but also refuses text that is empty or only white space.
pub fn check_filled(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::invalid(field, "is empty"));
    }
    check(field, text, bytes_max)
}

/// Cuts the text to `bytes_max` bytes, and replaces U+0000, which PostgreSQL cannot store. For text
/// that must be recorded whatever it contains.
pub fn shortened(text: &str, bytes_max: usize) -> String {
    cut(text, bytes_max).replace('\0', "\u{fffd}")
}

/// The beginning of a text: at most `bytes_max` bytes, without splitting a character.
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The maximum length of a [`headline`], in characters.
const HEADLINE_CHARS: usize = 72;

/// The first line of a text, cut to a length that fits into a list.
pub fn headline(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(HEADLINE_CHARS).collect()
}
