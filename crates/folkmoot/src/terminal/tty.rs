//! The person's terminal, even if standard input and output are redirected.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use super::prompt;

/// The controlling terminal, while this process is in its foreground.
#[derive(Debug)]
pub(crate) struct Terminal(File);

impl Terminal {
    /// `None` if there is no terminal, or another process is in its foreground: nobody could
    /// answer.
    pub(crate) fn open() -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
        let foreground = tcgetpgrp(&file).ok()?;
        (foreground == rustix::process::getpgrp()).then_some(Self(file))
    }

    pub(crate) fn say(&self, text: &str) -> io::Result<()> {
        let mut file = &self.0;
        writeln!(file, "{}", anstream::adapter::strip_str(text))
    }

    /// Asks for one line, which must be typed after the question. `None` at the end of the input.
    pub(crate) async fn line(&self, question: &str) -> io::Result<Option<String>> {
        let (mut file, question) = (self.0.try_clone()?, question.to_owned());
        blocking(move || {
            prompt::forget_typed(&file);
            write!(file, "{question} ")?;
            let mut line = String::new();
            let read = BufReader::new(file).read_line(&mut line)?;
            Ok((read > 0).then(|| line.trim().to_owned()))
        })
        .await
    }

    /// Asks for a line without echo. `None` if the person gives up.
    pub(crate) async fn secret(&self, question: &str) -> io::Result<Option<String>> {
        let (file, question) = (self.0.try_clone()?, question.to_owned());
        blocking(move || {
            // Before the question, so that nothing typed early is echoed.
            let silent = Silent::begin(&file)?;
            let mut terminal = &file;
            write!(terminal, "{question} ")?;
            let typed = typed(terminal);
            drop(silent);
            writeln!(terminal)?;
            typed
        })
        .await
    }
}

/// Turns echo and line editing off until it is dropped.
struct Silent<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Silent<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Flush also discards what was typed before the question.
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silent<'_> {
    fn drop(&mut self) {
        // The terminal may be gone.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const ERASE_LINE: u8 = 21;
/// More than anybody types.
const BYTES_MAX: usize = 4096;

fn typed(mut terminal: &File) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut key = [0];
    while line.len() < BYTES_MAX {
        if terminal.read(&mut key)? == 0 {
            return Ok(None);
        }
        match key[0] {
            b'\r' | b'\n' => break,
            INTERRUPT => return Ok(None),
            END if line.is_empty() => return Ok(None),
            ERASE_LINE => line.clear(),
            byte if BACKSPACE.contains(&byte) => {
                // A character may be several bytes.
                while line.pop().is_some_and(|byte| (byte & 0xc0) == 0x80) {}
            }
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map(Some).map_err(|_| io::Error::other("what was typed is no text"))
}

/// Runs on a separate thread, because a blocking read cannot be cancelled.
async fn blocking<T: Send + 'static>(read: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}
