//! A program's output for a model: text of a limited length.

use crate::foreign;

/// The beginning; says so if it was cut.
pub(super) fn beginning(bytes: &[u8], bytes_max: usize) -> String {
    foreign::text(String::from_utf8_lossy(bytes).trim_end(), bytes_max)
}

/// The end, where the reason usually is; says so if it was cut.
pub(super) fn end(bytes: &[u8], bytes_max: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    let from = text.ceil_char_boundary(text.len().saturating_sub(bytes_max));
    let kept = foreign::text(&text[from..], bytes_max);
    if from == 0 { kept } else { format!("[cut: the last {} of {} bytes] …{kept}", text.len() - from, text.len()) }
}
