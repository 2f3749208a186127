//! The accept loop. It limits the number of connections, the time for headers, and how long a
//! response may stay unread.
//!
//! A connection holds its place until the socket is closed, also after it has become a WebSocket:
//! hyper is then done with it, but it still counts, and shutdown still waits for it. [`places`]
//! says which connection makes room when there are too many.

mod heads;
mod hosts;
mod places;

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
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::{
    body::{Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::{Instant, Sleep, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use self::{heads::Heads, places::ConnectionSlot};
pub(crate) use self::{
    hosts::Hosts,
    places::{NoPlace, Places, RequestGuard},
};
use crate::{ServerLimits, error::ApiError, extract};

/// How long to pause when no connection can be accepted, for example for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(50);
const HEADER_BYTES_MAX: usize = 64 * 1024;

/// An open port and the service behind it.
#[derive(Debug)]
pub(crate) struct Acceptor {
    pub(crate) listener: TcpListener,
    pub(crate) door: Arc<Door>,
}

/// The checks that every request passes first.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) router: Router,
    pub(crate) limits: ServerLimits,
    pub(crate) hosts: Hosts,
}

/// Serves until `shutdown`. Then `closing` ends the streams, and requests in flight have `drain` to
/// finish.
pub(crate) async fn run(acceptor: Acceptor, closing: CancellationToken, shutdown: CancellationToken, drain: Duration) {
    let Acceptor { listener, door } = acceptor;
    let places = Places::new(&door.limits);
    let open = TaskTracker::new();
    let ending = CancellationToken::new();
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!("a connection could not be accepted: {error}");
                    places.make_room();
                    sleep(PAUSE).await;
                    continue;
                }
            },
            () = shutdown.cancelled() => break,
        };
        // If no place can be freed, new connections wait in the kernel's queue.
        let place = tokio::select! {
            place = places.take(open.token()) => place,
            () = shutdown.cancelled() => break,
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!("a connection cannot be set up: {error}");
        }
        let (requests, evicted) = (place.requests(peer.ip()), place.evicted());
        let patient = WriteTimeoutStream::new(stream, Duration::from_millis(door.limits.write_timeout_ms), place);
        let header_timeout = Duration::from_millis(door.limits.header_timeout_ms);
        let door = Arc::clone(&door);
        let service = service_fn(move |request| {
            let (door, guard) = (Arc::clone(&door), requests.begin());
            async move { Ok::<_, Infallible>(door.answer(request, guard).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .max_buf_size(HEADER_BYTES_MAX)
            .serve_connection(TokioIo::new(patient), service)
            .with_upgrades();
        let ending = ending.clone();
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let served = tokio::select! {
                served = connection.as_mut() => served,
                // No authenticated request is in flight.
                () = evicted.cancelled() => return,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            // A client that disconnects or is too slow is not our fault.
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

impl Door {
    async fn answer(&self, request: hyper::Request<Incoming>, guard: Option<RequestGuard>) -> Response {
        let Some(guard) = guard else { return ApiError::no_place(NoPlace::Full).into_response() };
        // Only hyper knows where such a request ends.
        let last = [header::TRANSFER_ENCODING, header::UPGRADE].iter().any(|name| request.headers().contains_key(name));
        let mut answer = match self.check(&request) {
            Err(error) => error.into_response(),
            Ok(()) => {
                let mut request: Request = request.map(Body::new);
                request.extensions_mut().insert(guard.clone());
                let answered = self.router.clone().oneshot(request).await;
                answered.unwrap_or_else(|never| match never {})
            }
        };
        let headers = answer.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if last && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer.map(|body| Body::new(TrackedBody { body, _request: guard }))
    }

    fn check(&self, request: &hyper::Request<Incoming>) -> Result<(), ApiError> {
        if !has_one_coding(request.headers()) {
            let detail =
                "the body has a Transfer-Encoding other than `chunked`; send it without, with a Content-Length";
            return Err(ApiError::bad_request("bad_transfer_encoding", detail).closing());
        }
        self.hosts.check(request.uri(), request.headers())?;
        // Before the body is requested: a client that waits for `100 Continue` then sends none of
        // it.
        let announced = request.body().size_hint().lower();
        if announced > self.limits.body_bytes as u64 {
            return Err(ApiError::body_too_large(self.limits.body_bytes));
        }
        Ok(())
    }
}

/// A response that keeps its connection in use until it is sent.
struct TrackedBody {
    body: Body,
    _request: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A proxy that decodes more codings than we do would see the body end elsewhere, and what follows
/// as another request. (hyper answers a request that also has a Content-Length and closes the
/// connection.)
fn has_one_coding(headers: &HeaderMap) -> bool {
    match extract::only(headers, "transfer-encoding") {
        None => true,
        Some(coding) => coding.is_ok_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked")),
    }
}

/// A connection whose client must read: a write without progress for too long ends it.
#[derive(Debug)]
struct WriteTimeoutStream {
    stream: TcpStream,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
    heads: Heads,
    _place: ConnectionSlot,
}

impl WriteTimeoutStream {
    fn new(stream: TcpStream, patience: Duration, place: ConnectionSlot) -> Self {
        Self { stream, patience, stuck: None, heads: Heads::default(), _place: place }
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

impl AsyncRead for WriteTimeoutStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.heads.look(&mut buffer.filled_mut()[before..]);
        poll
    }
}

impl AsyncWrite for WriteTimeoutStream {
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
