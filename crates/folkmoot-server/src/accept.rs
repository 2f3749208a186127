//! The accept loop: a limit on connections, on how long headers may take, and on how long an answer may stay unread.
//!
//! A connection holds its place until the socket is closed, also when it has become a WebSocket: then hyper is done with
//! it, but it still counts, and ending still waits for it.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
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
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep, timeout},
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
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
    let places = Arc::new(Semaphore::new(limits.connections));
    let open = TaskTracker::new();
    let ending = CancellationToken::new();
    loop {
        // Before accepting: whoever does not fit waits in the kernel's queue, and costs nothing here.
        let permit = tokio::select! {
            permit = places.clone().acquire_owned() => permit.expect("never closed"),
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
        let place = Place::new(permit, open.token());
        let patient = Patient::new(stream, Duration::from_millis(limits.write_timeout_ms), place);
        let router = router.clone();
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(limits.header_timeout_ms))
            .max_buf_size(HEADER_BYTES_MAX)
            .serve_connection(TokioIo::new(patient), service_fn(move |request| answer(router.clone(), request)))
            .with_upgrades();
        let ending = ending.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let served = tokio::select! {
                served = connection.as_mut() => served,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            // A client that goes away, or is too slow, is no fault of ours.
            if let Err(error) = served {
                tracing::debug!("a connection ended early: {error}");
            }
        });
    }
    drop(listener);
    closing.cancel();
    ending.cancel();
    open.close();
    if timeout(drain, open.wait()).await.is_err() {
        tracing::warn!("some requests did not finish in {} seconds and were cut off", drain.as_secs());
    }
}

async fn answer(router: Router, request: hyper::Request<Incoming>) -> Result<Response, Infallible> {
    if !has_one_coding(request.headers()) {
        let detail = "the body has a Transfer-Encoding other than `chunked`; send it without, with a Content-Length";
        return Ok(ApiError::bad_request("bad_transfer_encoding", detail).closing().into_response());
    }
    let request: Request = request.map(axum::body::Body::new);
    router.oneshot(request).await
}

/// What a connection takes from others while it is open.
#[derive(Debug)]
struct Place {
    _permit: OwnedSemaphorePermit,
    /// The end of the server waits for it.
    _open: TaskTrackerToken,
}

impl Place {
    fn new(permit: OwnedSemaphorePermit, open: TaskTrackerToken) -> Self {
        metrics::gauge!("folkmoot_connections").increment(1);
        Self { _permit: permit, _open: open }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        metrics::gauge!("folkmoot_connections").decrement(1);
    }
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
    _place: Place,
}

impl Patient {
    fn new(stream: TcpStream, patience: Duration, place: Place) -> Self {
        Self { stream, patience, stuck: None, _place: place }
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
