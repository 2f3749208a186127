//! Makes untrusted text fit to show: no control characters, nothing that reverses or hides text,
//! and a limited length.

/// One line of at most `chars_max` characters.
pub(crate) fn line(text: &str, chars_max: usize) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || is_unfit(c)).filter(|word| !word.is_empty()).collect();
    cut(&words.join(" "), chars_max)
}

/// All lines, of at most `chars_max` characters in total.
pub(crate) fn shortened(text: &str, chars_max: usize) -> String {
    let clean: String =
        text.replace("\r\n", "\n").chars().filter(|c| *c == '\n' || *c == '\t' || !is_unfit(*c)).collect();
    cut(clean.trim(), chars_max)
}

fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars_max.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Escapes what could begin a tag, a link or a mention in HTML and in Slack's markup.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Control characters, and invisible characters that reverse or hide text.
fn is_unfit(c: char) -> bool {
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    hidden || c.is_control()
}

#[cfg(test)]
mod tests {
    use super::{escaped, line, shortened};

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(line("a\r\nBcc: eve@example.org\u{202e}x\0y  z", 100), "a Bcc: eve@example.org x y z");
        assert_eq!(line("äöü äöü", 5), "äöü …");
        assert_eq!(line("äöü", 3), "äöü");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(shortened("\n a\r\nb\u{1b}[31m\n", 100), "a\nb[31m");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(escaped("<!channel> & <https://a|b>"), "&lt;!channel&gt; &amp; &lt;https://a|b&gt;");
    }
}
