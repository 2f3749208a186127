//! Asking the person at the terminal.

use std::{
    io::{self, BufRead, Write},
    sync::{Mutex, PoisonError},
};

use tokio::sync::oneshot;

type LineReceiver = oneshot::Receiver<io::Result<Option<String>>>;

/// A line that nobody waits for any more, because what was asked is settled. What is typed next
/// answers the next question.
static LEFT: Mutex<Option<LineReceiver>> = Mutex::new(None);

/// A line that is still awaited. Whoever gives up leaves it to the next who asks.
struct PendingLine(Option<LineReceiver>);

impl Drop for PendingLine {
    fn drop(&mut self) {
        *LEFT.lock().unwrap_or_else(PoisonError::into_inner) = self.0.take();
    }
}

/// Forgets what was typed before anybody could have read what is asked now: a key that was pressed
/// twice decides once. (A terminal hands on one line at a time, so nothing of it has been read
/// yet.)
pub(crate) fn forget_typed_ahead() {
    // Where it is no terminal there is nothing to forget.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Asks for one line. `None` when there are no more.
pub(crate) async fn line(question: &str) -> io::Result<Option<String>> {
    let mut out = anstream::stdout().lock();
    write!(out, "{question} ")?;
    out.flush()?;
    drop(out);
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner).take();
    let mut waiting = PendingLine(Some(left.unwrap_or_else(read)));
    let answered = match &mut waiting.0 {
        Some(line) => line.await.unwrap_or(Ok(None)),
        None => Ok(None),
    };
    waiting.0 = None;
    answered
}

/// The next line, from a thread of its own: one that waits for a line cannot be told to stop, and
/// must not hold up the end.
fn read() -> LineReceiver {
    let (answered, answer) = oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        let _ = answered.send(read.map(|bytes| (bytes > 0).then(|| line.trim().to_owned())));
    });
    answer
}

/// Asks for yes; anything else is no.
pub(crate) async fn yes(question: &str) -> io::Result<bool> {
    let answer = line(&format!("{question} [y/N]")).await?;
    Ok(answer.is_some_and(|answer| matches!(answer.to_lowercase().as_str(), "y" | "yes")))
}
