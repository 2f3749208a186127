//! Limits the bytes a client may send on a socket: pings, endless fragments, noise.

use std::{
    io,
    num::NonZeroU32,
    pin::Pin,
    task::{Context, Poll, ready},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// At once: a message of the maximum length, and some more.
const BURST: NonZeroU32 = NonZeroU32::new(4 << 20).expect("it is not zero");
/// Then per second.
const EACH_SECOND: NonZeroU32 = NonZeroU32::new(64 << 10).expect("it is not zero");

/// A stream that fails when the other side sends too much.
#[derive(Debug)]
pub(super) struct MeteredStream<S> {
    stream: S,
    bytes: DefaultDirectRateLimiter,
}

#[derive(Debug, thiserror::Error)]
#[error("the other side sends too much")]
struct TooMuch;

pub(super) fn is_too_much(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<TooMuch>())
}

impl<S> MeteredStream<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, bytes: RateLimiter::direct(Quota::per_second(EACH_SECOND).allow_burst(BURST)) }
    }

    pub(super) fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let read = u32::try_from(buffer.filled().len() - before).unwrap_or(u32::MAX);
        let fits = NonZeroU32::new(read).is_none_or(|read| matches!(self.bytes.check_n(read), Ok(Ok(()))));
        Poll::Ready(if fits { Ok(()) } else { Err(io::Error::other(TooMuch)) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
