//! What text from outside must satisfy before any rule looks at it.

use crate::Refusal;

/// The longest title, in bytes.
pub const TITLE_BYTES_MAX: usize = 300;
/// The longest summary, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 256 * 1024;
/// The longest reason or feedback, in bytes.
pub const REASON_BYTES_MAX: usize = 16 * 1024;

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
