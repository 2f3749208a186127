//! Output for a person at a terminal, for a pipe, or as JSON.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{printable::escaped, table::TableRow, wrap::wrapped};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Print only the API's JSON.
    pub(crate) json: bool,
    /// Whether stdout is a terminal.
    pub(crate) terminal: bool,
    /// Whether the person at it can also answer.
    pub(crate) answers: bool,
    /// Whether a person reads stderr. An agent that captures it is not told how to decide.
    pub(crate) notes_are_read: bool,
    pub(super) width: u16,
}

impl Screen {
    pub(crate) fn new(json: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let answers = !json && terminal && io::stdin().is_terminal();
        let notes_are_read = io::stderr().is_terminal();
        let width = terminal_width();
        Self { json, terminal, answers, notes_are_read, width }
    }

    /// The width for drawings: the terminal's, or a usual width for a pipe.
    pub(crate) fn columns(self) -> usize {
        if self.terminal { self.width.into() } else { 80 }
    }

    /// A paragraph, wrapped between words.
    pub(crate) fn paragraph(self, text: &str) -> String {
        wrapped(text, self.columns().saturating_sub(1)).join("\n")
    }

    pub(crate) fn say(self, text: impl AsRef<str>) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_ref().as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Prints to stdout, unchanged.
    pub(crate) fn raw(self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Prints a note to stderr; with JSON output, nothing.
    pub(crate) fn note(self, text: impl AsRef<str>) {
        if !self.json {
            // Nobody could be told of this failure.
            let _ = writeln!(anstream::stderr(), "{}", text.as_ref());
        }
    }

    /// Prints the answer: as JSON to a program, as this text to a person.
    pub(crate) fn show(self, answer: &impl Serialize, text: impl AsRef<str>) -> anyhow::Result<()> {
        match self.json {
            true => self.json(answer),
            false => Ok(self.say(text)?),
        }
    }

    /// Prints a list: as JSON to a program, as a table to a person. `none` is printed if the list
    /// is empty, `more` if another page follows. A page of long texts can be shorter than
    /// requested.
    pub(crate) fn list(
        self,
        list: &impl Serialize,
        names: &[&str],
        rows: Vec<TableRow>,
        none: impl AsRef<str>,
        more: bool,
    ) -> anyhow::Result<()> {
        let shown = rows.len();
        if self.json {
            return self.json(list);
        }
        match shown {
            0 => self.note(none),
            _ => self.table(names, rows)?,
        }
        if more {
            self.note(format!("There are more than these {shown}; see --limit and --cursor."));
        }
        Ok(())
    }

    /// Prints JSON: one line for a program, several for a person.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        if self.terminal {
            return Ok(self.say(escaped(&serde_json::to_string_pretty(value)?))?);
        }
        Ok(self.say(serde_json::to_string(value)?)?)
    }
}

/// The terminal's width, or a usual width if it is unknown.
fn terminal_width() -> u16 {
    terminal_size::terminal_size().map_or(100, |(width, _)| width.0)
}

/// `None` if stdout is not a terminal.
pub(super) fn terminal_columns() -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal_width().into())
}
