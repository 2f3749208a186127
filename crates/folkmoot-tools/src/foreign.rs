//! Text that others wrote: servers, programs, models. Made fit to be shown in a message, or to
//! stand in a prompt as data.

use folkmoot_core::Digest;

/// One line of at most about `bytes_max` bytes, without control characters. The end of a longer
/// text is what is kept: programs say last what they died of.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let line =
        text.split(|c: char| c.is_control()).filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join(" ");
    if line.len() <= bytes_max {
        return line;
    }
    let from = (line.len() - bytes_max..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    format!("…{}", &line[from..])
}

/// The beginning of a text without control characters other than line ends and tabs, and without
/// the invisible characters that turn text round or hide it from people but not from models. Says
/// so if it was cut.
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

/// The beginning of a text, at most `bytes_max` bytes of it, without splitting a character.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    let end = (0..=bytes_max.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
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
