//! Asking the person at the terminal.

use std::{
    io::{self, Write},
    os::fd::AsFd,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{QueueSelector, tcflush},
};
use tokio::sync::oneshot::{self, Receiver, Sender};

/// How long a line that nobody waits for any more is still watched for.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Discards what was typed before the question was visible, so that a key pressed twice decides
/// only once, and a line begun for a question that is settled answers no other. (Nothing reads
/// ahead of a question, so nothing of it has been read yet.)
pub(crate) fn forget_typed_ahead() {
    forget_typed(&io::stdin());
}

/// A paste may be longer than the terminal's buffer, so this goes on until nothing more comes.
pub(super) fn forget_typed(terminal: &impl AsFd) {
    for _ in 0..FLUSHES_MAX {
        // If this is not a terminal, there is nothing to discard.
        if tcflush(terminal, QueueSelector::IFlush).is_err() {
            return;
        }
        let mut waiting = [PollFd::new(terminal, PollFlags::IN)];
        if !matches!(poll(&mut waiting, Some(&QUIET)), Ok(1..)) {
            // A line that is not finished is not reported.
            let _ = tcflush(terminal, QueueSelector::IFlush);
            return;
        }
    }
}

/// How long nothing must come before a question is asked.
const QUIET: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const FLUSHES_MAX: usize = 100;

/// Asks for one line. `None` at the end of the input.
pub(crate) async fn line(question: &str) -> io::Result<Option<String>> {
    let mut out = anstream::stdout().lock();
    write!(out, "{question} ")?;
    out.flush()?;
    drop(out);
    read().await.unwrap_or(Ok(None))
}

/// Reads the next line on a separate thread, which must not delay the exit. It takes nothing once
/// its question is given up.
fn read() -> Receiver<io::Result<Option<String>>> {
    let (answered, answer) = oneshot::channel();
    std::thread::spawn(move || {
        let line = next_line(&answered);
        let _ = answered.send(line);
    });
    answer
}

/// Unbuffered, so that a later question finds all that this one leaves.
fn next_line(answered: &Sender<io::Result<Option<String>>>) -> io::Result<Option<String>> {
    let (stdin, mut line, mut byte) = (io::stdin(), Vec::new(), [0]);
    while !line.ends_with(b"\n") {
        let ready = match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&LOOK)) {
            Err(Errno::INTR) => 0,
            ready => ready?,
        };
        if answered.is_closed() {
            return Ok(None);
        }
        if ready > 0 {
            match rustix::io::read(&stdin, &mut byte) {
                Ok(0) if line.is_empty() => return Ok(None),
                Ok(0) => break,
                Ok(_) => line.push(byte[0]),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let line = String::from_utf8(line).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some(line.trim().to_owned()))
}

/// Asks for yes. Anything else is no.
pub(crate) async fn yes(question: &str) -> io::Result<bool> {
    forget_typed_ahead();
    let answer = line(&format!("{question} [y/N]")).await?;
    Ok(answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes")))
}
