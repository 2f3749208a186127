//! The accept loop: a limit on connections, on how long headers may take, and on how long an answer may stay unread.

use std::{
    convert::Infallible,
    io,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{Instant, Sleep, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{Limits, error::ApiError, extract};

/// How long to pause when no connection can be accepted, for example for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
/// The most bytes of headers.
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// A port that is open, and what answers on it.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    pub(crate) limits: Limits,
}

/// Serves until `shutdown`. Then `closing` ends the streams, and what is in flight has `drain` to finish.
pub(crate) async fn run(acceptor: Acceptor, closing: CancellationToken, shutdown: CancellationToken, drain: Duration) {
    let Acceptor { listener, router, limits } = acceptor;
    let connections = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        // Before accepting: whoever does not fit waits in the kernel's queue, and costs nothing here.
        let permit = tokio::select! {
            permit = connections.clone().acquire_owned() => permit.expect("never closed"),
            () = shutdown.cancelled() => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    sleep(PAUSE).await;
                    continue;
                }
            },
            () = shutdown.cancelled() => break,
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("a connection cannot be set up: {error}");
        }
        let patient = Patient::new(stream, Duration::from_millis(limits.write_timeout_ms));
        let router = router.clone();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(limits.header_timeout_ms))
            .max_buf_size(HEADER_BYTES_MAX)
            .serve_connection(TokioIo::new(patient), service_fn(move |request| answer(router.clone(), request)));
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // A client that goes away, or is too slow, is no fault of ours.
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended early: {error}");
            }
            drop(permit);
        });
    }
    drop(listener);
    closing.cancel();
    if timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in {} seconds and were cut off", drain.as_secs());
    }
}

async fn answer(router: Router, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
    if !has_one_coding(request.headers()) {
        let detail = "the body has a Transfer-Encoding other than `chunked`; send it without, with a Content-Length";
        return Ok(ApiError::bad_request("bad_transfer_encoding", detail).closing().into_response());
    }
    let request: Request = request.map(axum::body::Body::new);
    let answered = AssertUnwindSafe(router.oneshot(request)).catch_unwind().await;
    answered.unwrap_or_else(|_| {
        tracing::error!("a handler panicked");
        Ok(ApiError::internal().into_response())
    })
}

/// Whoever undoes more codings than we do sees the body end elsewhere, and what follows as another request. (A request with a
/// Content-Length as well is answered, and the connection closed, by hyper.)
fn has_one_coding(headers: &HeaderMap) -> bool {
    match extract::only(headers, "transfer-encoding") {
        None => true,
        Some(coding) => coding.is_ok_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked")),
    }
}

/// A connection whose other side must read: a write that makes no progress for too long ends it.
#[derive(Debug)]
struct Patient {
    stream: TcpStream,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream, patience, stuck: None }
    }

    fn progressed<T>(&mut self, cx: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if poll.is_ready() {
            self.stuck = None;
            return poll;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(stuck.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side does not read")))
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.progressed(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.progressed(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
