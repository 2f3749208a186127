//! What a job prints: so much of it is kept, and not more is read.

use tokio::io::{AsyncRead, AsyncReadExt};

/// One of the outputs.
#[derive(Debug)]
pub(super) struct Output<R> {
    from: R,
    pub(super) kept: Vec<u8>,
    bytes_max: usize,
    /// Whether there was more than may be.
    pub(super) over: bool,
    closed: bool,
}

impl<R: AsyncRead + Unpin> Output<R> {
    pub(super) fn new(from: R, bytes_max: usize) -> Self {
        Self { from, kept: Vec::new(), bytes_max, over: false, closed: false }
    }

    /// Returns when there is more than may be, and never otherwise.
    pub(super) async fn overflow(&mut self) {
        self.rest().await;
        if !self.over {
            std::future::pending::<()>().await;
        }
    }

    /// Reads to the end, or to where it is too much. What was read is kept also where this is
    /// dropped.
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
