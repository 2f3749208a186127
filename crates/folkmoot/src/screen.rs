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
        let width = terminal_size::terminal_size().map_or(100, |(width, _)| width.0);
        Self { json, terminal, answers, width }
    }

    /// How wide a drawing can be: as wide as the terminal, and for a pipe as wide as most of them are.
    pub(crate) fn columns(self) -> usize {
        if self.terminal { self.width.into() } else { 80 }
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
        let text = if self.terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }?;
        Ok(self.say(text)?)
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

/// Behind a bar, so that nothing in it can pass for something that we say.
pub(crate) fn behind_bar<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> String {
    let bar = paint(style::FAINT, "│");
    lines.into_iter().map(|line| format!("  {bar} {}", line.as_ref())).collect::<Vec<_>>().join("\n")
}

/// Text from outside, without what could move the cursor, hide or turn round other text.
pub(crate) fn printable(text: &str) -> String {
    let harmless = |c: char| match c {
        '\n' | '\t' => c,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.replace("\r\n", "\n").chars().map(harmless).collect()
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
    format!("{kept}…{}", anstyle::Reset)
}

/// As [`printable`], on one line.
pub(crate) fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Row, Screen, cut};

    #[test]
    fn a_line_is_cut_at_its_end_and_keeps_its_colours() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…\u{1b}[0m");
        assert_eq!(cut("\u{1b}[31mabc\u{1b}[0mdefg", 6), "\u{1b}[31mabc\u{1b}[0mde…\u{1b}[0m");
        assert_eq!(cut("日本語日本語", 6), "日本…\u{1b}[0m", "wide letters take two columns");
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
            let screen = Screen { json: false, terminal: true, answers: false, width };
            let drawn = screen.draw(&names, (0..5).map(row).collect());
            assert_eq!(drawn.lines().count(), 6, "{width} columns:\n{drawn}");
        }
    }
}
