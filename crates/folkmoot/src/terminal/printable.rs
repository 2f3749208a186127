//! Makes text from outside safe to print: it cannot move the cursor, hide other text or reverse it.

/// Replaces everything that could move the cursor, hide or reverse other text. Invisible characters
/// are shown by their numbers, so that texts that differ also look different.
pub(crate) fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' | '\t' => printed.push(c),
            c if c.is_control() => printed.push('\u{fffd}'),
            c if is_invisible(c) => printed.push_str(&format!("<U+{:04X}>", u32::from(c))),
            c => printed.push(c),
        }
    }
    printed
}

/// JSON for a terminal: the same document, with everything that could move the cursor or hide other
/// text as `\u` and its number.
pub(crate) fn escaped(json: &str) -> String {
    let mut printed = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => printed.push(c),
            c if c.is_control() || is_invisible(c) => {
                let units = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
                printed.push_str(&units);
            }
            c => printed.push(c),
        }
    }
    printed
}

/// Whether nobody sees it, though it can change what is seen beside it or makes two texts differ:
/// what Unicode calls format characters, fillers, tags, variation selectors, and separators other
/// than the space. Joiners between letters of scripts that need them are shown by their numbers
/// too: a text that is decided on is better ugly than ambiguous.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// As [`printable`], on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{escaped, one_line, printable};

    #[test]
    fn json_at_a_terminal_is_the_same_document_and_moves_nothing() {
        let value = serde_json::json!({"title": "a\u{9b}31m\u{202e}b\u{200b}\u{e0041}\u{7f}ü"});
        let printed = escaped(&value.to_string());
        assert_eq!(printed, r#"{"title":"a\u009b31m\u202eb\u200b\udb40\udc41\u007fü"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&printed).unwrap(), value);
    }

    #[test]
    fn what_nobody_would_see_is_shown_by_its_number() {
        assert_eq!(printable("rm\u{200b} -rf"), "rm<U+200B> -rf");
        assert_eq!(printable("a\u{202e}b\u{2066}c\u{200e}"), "a<U+202E>b<U+2066>c<U+200E>");
        assert_eq!(printable("\u{feff}x\u{e0041}\u{ad}\u{3164}\u{2028}"), "<U+FEFF>x<U+E0041><U+00AD><U+3164><U+2028>");
        assert_eq!(printable("a\u{1b}[31m\u{7}\r\u{9b}"), "a\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(one_line("one\u{2028}two\u{200b}"), "one<U+2028>two<U+200B>");
        for harmless in ["Zoë, 日本語, العربية, עברית", "❤\u{fe0f}", "e\u{301}", "a\tb\nc"] {
            assert_eq!(printable(harmless), harmless);
        }
    }
}
