//! Limits a server's messages: the size of one, and the total between two answers that somebody
//! waits for.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, ReadBuf};

use super::McpErrorKind;

/// The number of messages between two answers.
const MESSAGES_MAX: usize = 10_000;

#[derive(Debug)]
pub(super) struct BoundedReader<R> {
    inner: R,
    meter: Arc<Meter>,
}

/// What was read since the last answer, and why reading stopped.
#[derive(Debug)]
pub(super) struct Meter {
    message_bytes: usize,
    flood_bytes: usize,
    count: Mutex<MessageCount>,
}

#[derive(Debug, Default)]
struct MessageCount {
    line: usize,
    bytes: usize,
    lines: usize,
    fault: Option<String>,
}

impl Meter {
    pub(super) fn new(message_bytes: usize, flood_bytes: usize) -> Arc<Self> {
        Arc::new(Self { message_bytes, flood_bytes, count: Mutex::default() })
    }

    /// A caller begins to wait for an answer, so the count restarts.
    pub(super) fn begin(&self) {
        let mut count = self.count.lock();
        (count.bytes, count.lines) = (0, 0);
    }

    pub(super) fn stop(&self, why: String) {
        self.count.lock().fault.get_or_insert(why);
    }

    pub(super) fn fault(&self) -> Option<(McpErrorKind, String)> {
        let count = self.count.lock();
        count.fault.clone().map(|fault| (McpErrorKind::TooLarge, fault))
    }

    fn read(&self, piece: &[u8]) -> io::Result<()> {
        let mut count = self.count.lock();
        count.bytes += piece.len();
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            count.line += part.len();
            if count.line > self.message_bytes {
                break;
            }
            if part.ends_with(b"\n") {
                count.line = 0;
                count.lines += 1;
            }
        }
        if count.line > self.message_bytes {
            count.fault = Some(format!("it sent a message of more than {} bytes", self.message_bytes));
        } else if count.bytes > self.flood_bytes {
            count.fault = Some(format!("it sent more than {} bytes without answering", self.flood_bytes));
        } else if count.lines > MESSAGES_MAX {
            count.fault = Some(format!("it sent more than {MESSAGES_MAX} messages without answering"));
        }
        match &count.fault {
            None => Ok(()),
            Some(fault) => Err(io::Error::other(fault.clone())),
        }
    }
}

impl<R> BoundedReader<R> {
    pub(super) fn new(inner: R, meter: Arc<Meter>) -> Self {
        Self { inner, meter }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        Poll::Ready(self.meter.read(&buffer.filled()[before..]))
    }
}
