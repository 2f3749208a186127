//! Untrusted text of servers, programs and models, made fit for messages and prompts.

use folkmoot_core::{Digest, text::cut};

/// One line of about `bytes_max` bytes without control characters. Keeps the end of a longer text,
/// where programs put the cause of failure.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let line =
        text.split(|c: char| c.is_control()).filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(" ");
    if line.len() <= bytes_max {
        return line;
    }
    format!("…{}", &line[line.ceil_char_boundary(line.len() - bytes_max)..])
}

/// The beginning of a text without control characters except line ends and tabs, and without
/// invisible characters that reverse or hide text. Says so if it was cut.
pub(crate) fn text(text: &str, bytes_max: usize) -> String {
    let clean: String = text.chars().filter(|c| !is_unfit(*c)).collect();
    match cut(&clean, bytes_max) {
        whole if whole.len() == clean.len() => clean,
        beginning => format!("{beginning}… [cut: {} of {} bytes]", beginning.len(), clean.len()),
    }
}

fn is_unfit(c: char) -> bool {
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    hidden || (c.is_control() && c != '\n' && c != '\t')
}

/// A short word that occurs in none of the texts. The same texts always give the same word.
pub(crate) fn mark(texts: &[&str]) -> String {
    let mut digest = Digest::of(texts.join("\n").as_bytes());
    loop {
        let mark = &digest.hex()[..12];
        if !texts.iter().any(|text| text.contains(mark)) {
            return mark.to_owned();
        }
        digest = Digest::of(digest.as_bytes());
    }
}

#[cfg(test)]
mod tests;
