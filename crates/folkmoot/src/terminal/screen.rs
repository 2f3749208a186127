//! What is printed, and how it looks: for a person at a terminal, for a pipe, or as JSON.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::{printable::escaped, wrap::wrapped};

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

    /// How wide a drawing can be: as wide as the terminal, and for a pipe as wide as most of them
    /// are.
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

    /// Says that a list goes on. A page of long texts holds fewer than were asked for.
    pub(crate) fn note_more(self, shown: usize, more: bool) {
        if more {
            self.note(format!("There are more than these {shown}; see --limit and --cursor."));
        }
    }

    /// Prints JSON: one line for a program, several for a person.
    pub(crate) fn json(self, value: &impl Serialize) -> anyhow::Result<()> {
        if self.terminal {
            return Ok(self.say(escaped(&serde_json::to_string_pretty(value)?))?);
        }
        Ok(self.say(serde_json::to_string(value)?)?)
    }
}

/// As wide as the terminal; as wide as many are where it does not say.
fn terminal_width() -> u16 {
    terminal_size::terminal_size().map_or(100, |(width, _)| width.0)
}

/// Nothing where stdout is no terminal.
pub(super) fn terminal_columns() -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal_width().into())
}
