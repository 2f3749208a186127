//! What is printed, and how it looks: for a person at a terminal, for a pipe, or as JSON.

use std::io::{self, IsTerminal, Write};

use anstyle::Style;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::style::{self, paint};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Nothing but the wire's JSON.
    pub(crate) json: bool,
    /// Whether a person looks at stdout.
    pub(crate) terminal: bool,
    /// Whether that person can also answer.
    pub(crate) answers: bool,
    /// Whether a person reads stderr. An agent that captures it is not told how to decide.
    pub(crate) notes_are_read: bool,
    width: u16,
}

/// A row of a table. The painted word is the first in the row that is equal to it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) painted: Option<(&'static str, Style)>,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let answers = !json && terminal && io::stdin().is_terminal();
        let notes_are_read = io::stderr().is_terminal();
        let width = terminal_width();
        Self { json, terminal, answers, notes_are_read, width }
    }

    /// How wide a drawing can be: as wide as the terminal, and for a pipe as wide as most of them are.
    pub(crate) fn columns(self) -> usize {
        if self.terminal { self.width.into() } else { 80 }
    }

    /// A paragraph, broken between its words where the line ends.
    pub(crate) fn paragraph(self, text: &str) -> String {
        wrapped(text, self.columns().saturating_sub(1)).join("\n")
    }

    /// Prints to stdout.
    pub(crate) fn say(self, text: impl AsRef<str>) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_ref().as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints to stdout exactly this.
    pub(crate) fn raw(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Prints to stderr what is no result; nothing beside JSON.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        if !self.json {
            // Nobody is left to tell that this failed.
            let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
        }
    }

    /// Prints JSON: one line for a program, several for a person.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        if self.terminal {
            return Ok(self.say(escaped(&serde_json::to_string_pretty(value)?))?);
        }
        Ok(self.say(serde_json::to_string(value)?)?)
    }

    /// Columns under their names; cut to the width of a terminal, whole for a pipe.
    pub(crate) fn table(self, names: &[&str], rows: Vec<Row>) -> io::Result<()> {
        self.say(self.draw(names, rows))
    }

    fn draw(self, names: &[&str], rows: Vec<Row>) -> String {
        let mut table = Table::new();
        let mut header = comfy_table::Row::from(names.to_vec());
        // One line for each row, the header too: whatever does not fit is cut, and no row is lost.
        header.max_height(1);
        table.load_style(presets::NOTHING).set_header(header).set_truncation_indicator("…");
        if self.terminal {
            table.set_width(self.width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        let painted: Vec<_> = rows.iter().map(|row| row.painted).collect();
        for row in rows {
            let mut cells = comfy_table::Row::from(row.cells);
            cells.max_height(1);
            table.add_row(cells);
        }
        // The first column is an id, which nothing may cut; and no column stands away from the edge.
        if let Some(column) = table.column_mut(0) {
            column.set_padding((0, 1)).set_constraint(ColumnConstraint::ContentWidth);
        }
        let mut lines = table.lines();
        let header = lines.next().map(|line| paint(style::FAINT, line.trim_end())).unwrap_or_default();
        let rows = lines.zip(painted).map(|(line, painted)| match painted {
            Some((word, style)) => {
                line.trim_end().replacen(&format!(" {word} "), &paint(style, format!(" {word} ")), 1)
            }
            None => line.trim_end().to_owned(),
        });
        std::iter::once(header).chain(rows).collect::<Vec<_>>().join("\n")
    }
}

/// What there is to know, each with its name before it.
pub(crate) fn facts<const N: usize>(rows: [(&str, Option<String>); N]) -> String {
    let line = |(name, value): (&str, Option<String>)| {
        value.map(|value| format!("  {} {value}", paint(style::FAINT, format!("{name:<10}"))))
    };
    rows.into_iter().filter_map(line).collect::<Vec<_>>().join("\n")
}

/// As wide as the terminal; as wide as many are where it does not say.
fn terminal_width() -> u16 {
    terminal_size::terminal_size().map_or(100, |(width, _)| width.0)
}

/// Behind a bar, so that nothing in it can pass for something that we say: on a terminal also what does not fit in a line.
pub(crate) fn behind_bar<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    barred(lines, terminal_columns())
}

/// Nothing where stdout is no terminal.
fn terminal_columns() -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal_width().into())
}

/// A line of ours, on a terminal broken between its words where it does not fit.
pub(crate) fn fitting(line: &str) -> String {
    terminal_columns().map_or_else(|| line.to_owned(), |columns| wrapped(line, columns.saturating_sub(1)).join("\n"))
}

fn barred<T: AsRef<str>>(lines: impl IntoIterator<Item = T>, columns: Option<usize>) -> String {
    let bar = paint(style::FAINT, "│");
    // Two columns before the bar, one after it; and the last one stays free: some terminals begin a new line there.
    let fitting = |line: &str| match columns {
        Some(columns) => wrapped(line, columns.saturating_sub(5)),
        None => vec![line.to_owned()],
    };
    let lines = lines.into_iter().flat_map(|line| fitting(line.as_ref()));
    lines.map(|line| format!("  {bar} {line}")).collect::<Vec<_>>().join("\n")
}

/// The narrowest that anything is broken to; whoever has less room has their terminal do it.
const COLUMNS_MIN: usize = 10;

/// A line as several of at most so many columns, its colours counted for nothing. It is broken between words, and a word only
/// where it fits in no line.
pub(crate) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let (columns, line) = (columns.max(COLUMNS_MIN), line.replace('\t', "    "));
    let width_of = |text: &str| anstream::adapter::strip_str(text).to_string().width();
    if width_of(&line) <= columns {
        return vec![line];
    }
    let (mut lines, mut current, mut escape) = (Vec::new(), String::new(), None);
    // What colours the text at the end of `current`; and the last space in it, with what colours the text there.
    let (mut colour, mut space) = (String::new(), None);
    for c in line.chars() {
        if escape.is_some() || c == '\u{1b}' {
            let begun = *escape.get_or_insert(current.len());
            current.push(c);
            // Colours are all that is left of escapes in what is printed here; each ends with an m.
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
        if width_of(&current) + c.width().unwrap_or_default() > columns {
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
            current = format!("{kept_colour}{rest}");
            space = None;
            if c == ' ' {
                continue;
            }
        }
        // What a line is indented by is no place to break it.
        if c == ' ' && !anstream::adapter::strip_str(&current).to_string().trim().is_empty() {
            space = Some((current.len(), colour.clone()));
        }
        current.push(c);
    }
    if width_of(&current) > 0 || lines.is_empty() {
        lines.push(current);
    }
    lines
}

/// Text from outside, without what could move the cursor, hide or turn round other text. What nobody would see is shown by
/// its number, so that two texts that differ also look different.
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

/// JSON for a terminal: the same document, with everything that could move the cursor or hide other text as `\u` and its number.
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

/// Whether nobody sees it, though it can change what is seen beside it or makes two texts differ: what Unicode calls format
/// characters, fillers, tags, variation selectors, and separators other than the space. Joiners between letters of scripts that need
/// them are shown by their numbers too: a text that is decided on is better ugly than ambiguous.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}'
        | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// A line that is too wide for so many columns, without its middle: long names often differ at their ends.
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

/// A line of at most so many columns, its colours counted for nothing; what does not fit is left out at its end.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if anstream::adapter::strip_str(line).to_string().width() <= columns {
        return line.to_owned();
    }
    let coloured = line.contains('\u{1b}');
    let (mut kept, mut room, mut colour) = (String::new(), columns.saturating_sub(1), false);
    for c in line.chars() {
        // Colours are all that is left of escapes in what is printed here; each ends with an m.
        colour |= c == '\u{1b}';
        if !colour {
            let Some(left) = room.checked_sub(c.width().unwrap_or_default()) else { break };
            room = left;
        }
        kept.push(c);
        colour &= c != 'm';
    }
    if coloured { format!("{kept}…{}", anstyle::Reset) } else { format!("{kept}…") }
}

/// As [`printable`], on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::{Row, Screen, barred, cut, escaped, one_line, printable, wrapped};

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

    #[test]
    fn every_line_behind_a_bar_begins_with_it_and_fits() {
        let text =
            ["a sentence that is longer than a narrow terminal is wide", "", "\tindented = 0123456789_0123456789_0123"];
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

    #[test]
    fn a_table_has_a_line_for_each_row_however_narrow_the_terminal() {
        let names = ["STEP", "KIND", "STATE", "TOOK", "WHAT CAME OF IT"];
        let row = |n: usize| Row {
            cells: vec![
                format!("a-step-with-a-long-name-{n}"),
                "once".into(),
                "done".into(),
                "1.0 s".into(),
                "ok".into(),
            ],
            painted: None,
        };
        for width in [20, 40, 60, 80, 120] {
            let screen = Screen { json: false, terminal: true, answers: false, notes_are_read: false, width };
            let drawn = screen.draw(&names, (0..5).map(row).collect());
            assert_eq!(drawn.lines().count(), 6, "{width} columns:\n{drawn}");
        }
    }
}
