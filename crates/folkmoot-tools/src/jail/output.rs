//! Reads a job's output up to a limit.

use tokio::io::{AsyncRead, AsyncReadExt};

#[derive(Debug)]
pub(super) struct Output<R> {
    from: R,
    pub(super) kept: Vec<u8>,
    bytes_max: usize,
    /// Whether there was too much.
    pub(super) over: bool,
    closed: bool,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(super) fn new(from: R, bytes_max: usize) -> Self {
        Self { from, kept: Vec::new(), bytes_max, over: false, closed: false }
    }

    /// Returns only if there is too much output.
    pub(super) async fn overflow(&mut self) {
        self.rest().await;
        if !self.over {
            std::future::pending::<()>().await;
        }
    }

    /// Reads to the end or the limit. What was read is kept even if this is dropped.
    pub(super) async fn rest(&mut self) {
        let mut chunk = [0; 16 * 1024];
        while !self.over && !self.closed {
            match self.from.read(&mut chunk).await {
                Ok(0) | Err(_) => self.closed = true,
                Ok(read) => {
                    let room = self.bytes_max - self.kept.len();
                    self.kept.extend_from_slice(&chunk[..read.min(room)]);
                    self.over = read > room;
                }
            }
        }
    }
}
