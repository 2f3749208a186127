//! Fits lines to a width: wraps between words, or cuts at the end or in the middle. Colour codes
//! take no columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{
    screen::terminal_columns,
    style::{self, paint},
};

/// Puts lines behind a bar, so that text from outside cannot pass for our own output. On a
/// terminal, wrapped lines get the bar too.
pub(crate) fn behind_bar<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    barred(lines, terminal_columns())
}

/// One of our own lines, wrapped between words on a terminal.
pub(crate) fn fitting(line: &str) -> String {
    terminal_columns().map_or_else(|| line.to_owned(), |columns| wrapped(line, columns.saturating_sub(1)).join("\n"))
}

fn barred<T: AsRef<str>>(lines: impl IntoIterator<Item = T>, columns: Option<usize>) -> String {
    let bar = paint(style::FAINT, "│");
    // Two columns before the bar and one after it. The last column stays free, because some
    // terminals begin a new line there.
    let fitting = |line: &str| match columns {
        Some(columns) => wrapped(line, columns.saturating_sub(5)),
        None => vec![line.to_owned()],
    };
    let lines = lines.into_iter().flat_map(|line| fitting(line.as_ref()));
    lines.map(|line| format!("  {bar} {line}")).collect::<Vec<_>>().join("\n")
}

/// The narrowest width to wrap to; below it the terminal must wrap.
const COLUMNS_MIN: usize = 10;

/// Wraps a line to at most `columns`, not counting colour codes. It breaks between words, and
/// inside a word only if the word fits in no line.
pub(crate) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let (columns, line) = (columns.max(COLUMNS_MIN), line.replace('\t', "    "));
    let width_of = |text: &str| anstream::adapter::strip_str(text).to_string().width();
    if width_of(&line) <= columns {
        return vec![line];
    }
    let (mut lines, mut current, mut escape) = (Vec::new(), String::new(), None);
    // The width of `current`, counted as it grows: measuring it for each character would take
    // minutes for many characters without width. And whether it has more than indentation.
    let (mut width, mut has_words) = (0, false);
    // The colour at the end of `current`, and the last space in it with the colour there.
    let (mut colour, mut space) = (String::new(), None);
    for c in line.chars() {
        if escape.is_some() || c == '\u{1b}' {
            let begun = *escape.get_or_insert(current.len());
            current.push(c);
            // Colours are the only escapes in this output; each ends with an m.
            if c == 'm' {
                let code = &current[begun..];
                if code == anstyle::Reset.to_string() {
                    colour.clear()
                } else {
                    colour.push_str(code)
                }
                escape = None;
            }
            continue;
        }
        if width + columns_of(c) > columns {
            let (rest, kept_colour) = match space.take() {
                _ if c == ' ' => (String::new(), colour.clone()),
                Some((at, colour)) => {
                    let rest = current.split_off(at);
                    (rest.trim_start_matches(' ').to_owned(), colour)
                }
                None => (String::new(), colour.clone()),
            };
            let reset = if kept_colour.is_empty() { String::new() } else { anstyle::Reset.to_string() };
            lines.push(format!("{}{reset}", current.trim_end_matches(' ')));
            (width, has_words) = (width_of(&rest), !rest.is_empty());
            current = format!("{kept_colour}{rest}");
            space = None;
            if c == ' ' {
                continue;
            }
        }
        // Do not break inside the indentation.
        if c == ' ' && has_words {
            space = Some((current.len(), colour.clone()));
        }
        current.push(c);
        width += columns_of(c);
        has_words |= c != ' ';
    }
    if width > 0 || lines.is_empty() {
        lines.push(current);
    }
    lines
}

/// The most columns that a character takes. A variation selector can make the character before it
/// one wider.
fn columns_of(c: char) -> usize {
    if c == '\u{fe0f}' { 1 } else { c.width().unwrap_or_default() }
}

/// Cuts the middle out of a line that is too wide, because long names often differ at their ends.
pub(crate) fn shortened(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let room = columns.saturating_sub(1);
    let fitting = |chars: &mut dyn Iterator<Item = char>, mut room: usize| -> Vec<char> {
        let fits = |c: &char| {
            c.width().unwrap_or_default() <= room && {
                room -= c.width().unwrap_or_default();
                true
            }
        };
        chars.take_while(fits).collect()
    };
    let front: String = fitting(&mut line.chars(), room.div_ceil(2)).into_iter().collect();
    let back: String = fitting(&mut line.chars().rev(), room / 2).into_iter().rev().collect();
    format!("{front}…{back}")
}

/// Cuts a line to at most `columns`, not counting colour codes.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if anstream::adapter::strip_str(line).to_string().width() <= columns {
        return line.to_owned();
    }
    let coloured = line.contains('\u{1b}');
    let (mut kept, mut room, mut colour) = (String::new(), columns.saturating_sub(1), false);
    for c in line.chars() {
        // Colours are the only escapes in this output; each ends with an m.
        colour |= c == '\u{1b}';
        if !colour {
            let Some(left) = room.checked_sub(columns_of(c)) else { break };
            room = left;
        }
        kept.push(c);
        colour &= c != 'm';
    }
    if coloured { format!("{kept}…{}", anstyle::Reset) } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::{barred, cut, wrapped};

    #[test]
    fn a_line_is_broken_between_its_words_and_a_word_only_where_it_must() {
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("as it is, ", 10), ["as it is, "]);
        assert_eq!(wrapped("one two three four", 10), ["one two", "three four"]);
        assert_eq!(wrapped("one two thr four", 11), ["one two thr", "four"]);
        assert_eq!(wrapped("0123456789abcdef and more", 10), ["0123456789", "abcdef and", "more"]);
        assert_eq!(wrapped("    indented = words", 12), ["    indented", "= words"]);
        assert_eq!(wrapped("日本語日本語日本語", 10), ["日本語日本", "語日本語"]);
        assert_eq!(
            wrapped("\u{1b}[31mone two three four\u{1b}[0m", 10),
            ["\u{1b}[31mone two\u{1b}[0m", "\u{1b}[31mthree four\u{1b}[0m"]
        );
    }

    /// An agent that wrote such a text kept the terminal of whoever looked at it busy for minutes.
    #[test]
    fn a_text_of_characters_without_width_is_wrapped_in_time_that_grows_with_its_length() {
        let text = format!("a{} {}", "\u{301}".repeat(200_000), "b ".repeat(40));
        let begun = std::time::Instant::now();
        let lines = wrapped(&text, 20);
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!(lines.concat().matches('b').count(), 40);
    }

    #[test]
    fn every_line_behind_a_bar_begins_with_it_and_fits() {
        let hearts = "\u{2764}\u{fe0f}".repeat(40);
        let text = [
            "a sentence that is longer than a narrow terminal is wide",
            "",
            "\tindented = 0123456789_0123456789_0123",
            &hearts,
        ];
        let drawn = barred(text, Some(30));
        for line in drawn.lines() {
            let line = anstream::adapter::strip_str(line).to_string();
            assert!(line.starts_with("  │ ") && line.width() < 30, "{line:?} in\n{drawn}");
        }
        let words = |text: &str| text.replace(['│', '\n', ' ', '\t'], "");
        let plain = anstream::adapter::strip_str(&drawn).to_string();
        assert_eq!(words(&plain), words(&text.concat()), "nothing of it is lost");
        assert_eq!(barred(text, None).lines().count(), text.len(), "a pipe gets the lines as they are");
    }

    #[test]
    fn a_line_is_cut_at_its_end_and_keeps_its_colours() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("\u{1b}[31mabc\u{1b}[0mdefg", 6), "\u{1b}[31mabc\u{1b}[0mde…\u{1b}[0m");
        assert_eq!(cut("日本語日本語", 6), "日本…", "wide letters take two columns");
    }
}
