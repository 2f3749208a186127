//! WebSockets: who may open one, and the loop that all of them share.
//!
//! A socket is another transport for the feed, with the guarantees of [`Subscriber`]. Clients send
//! little, so their limits are narrow. A client that exceeds them or does not read is told why and
//! disconnected; it can reconnect with its position.

mod meter;
mod origin;

use std::{num::NonZeroU32, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use folkmoot_core::Event;
use futures_util::{SinkExt, StreamExt};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Bytes, Error as SocketError, Message,
        handshake::server::create_response_with_body,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use self::meter::MeteredStream;
pub use self::origin::Origin;
use crate::{
    accept::RequestGuard,
    app::App,
    auth::Authenticated,
    error::ApiError,
    routes::events::{FeedEnd, LOG_LOST, Subscriber},
};

/// Our subprotocol.
const PROTOCOL: &str = "folkmoot.v1";
/// The prefix of the subprotocol with which a browser sends its token, because it cannot send other
/// headers.
const BEARER: &str = "folkmoot.bearer.";
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// How many messages a client may send at once, including pings, and then per second.
const MESSAGES: (u32, u32) = (50, 10);
/// Frames are written together up to this many bytes.
const WRITE_TOGETHER: usize = 16 * 1024;
/// How many heartbeats may stay unanswered.
const SILENT_MAX: u32 = 3;
/// How long to wait for the client to read the close reason.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much more it may send meanwhile.
const FAREWELL_BYTES: u64 = 8 << 20;

/// A client that may open a socket.
#[derive(Debug)]
pub(crate) struct SocketUpgrade {
    pub(crate) who: Authenticated,
    answer: Response,
    upgrade: OnUpgrade,
    /// Keeps the connection in use while the socket is open.
    guard: Option<RequestGuard>,
}

impl FromRequestParts<App> for SocketUpgrade {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let request = Request::from_parts(parts.clone(), ());
        let answer = create_response_with_body(&request, Body::empty);
        let (Ok(mut answer), Some(upgrade)) = (answer, parts.extensions.remove::<OnUpgrade>()) else {
            return Err(ApiError::upgrade_required());
        };
        // A foreign page must not use the browser's credentials.
        origin::check(&parts.headers, &app.origins)?;
        if let Some(offered) = OfferedSubprotocols::of(parts) {
            if !parts.headers.contains_key(header::AUTHORIZATION) {
                parts.headers.extend(offered.authorization.map(|value| (header::AUTHORIZATION, value)));
            }
            answer.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        }
        let guard = parts.extensions.get::<RequestGuard>().cloned();
        Ok(Self { who: Authenticated::from_request_parts(parts, app).await?, answer, upgrade, guard })
    }
}

/// The offered subprotocols of a client that speaks ours.
struct OfferedSubprotocols {
    authorization: Option<HeaderValue>,
}

impl OfferedSubprotocols {
    fn of(parts: &Parts) -> Option<Self> {
        let headers = parts.headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
        let offered: Vec<&str> =
            headers.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).map(str::trim).collect();
        let token = offered.iter().find_map(|protocol| protocol.strip_prefix(BEARER));
        let authorization = token.and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        offered.contains(&PROTOCOL).then_some(Self { authorization })
    }
}

/// The messages of one kind of socket.
pub(crate) trait SocketDialect: Send + Sync + 'static {
    /// The frame that is sent first, and after the client chose another position.
    fn begin(&self, position: u64) -> Option<String>;

    /// The frame for an event; `None` if this dialect skips it.
    fn tell(
        &self,
        app: &App,
        who: &Authenticated,
        event: &Event,
    ) -> impl Future<Output = Result<Option<String>, FeedEnd>> + Send;

    /// The position that the client wants to continue after, if its message says so. `Err` says
    /// what it should send.
    fn hear(&self, text: &str) -> Result<Option<u64>, &'static str>;
}

impl SocketUpgrade {
    /// Opens the socket and sends events after `position`.
    pub(crate) fn admit(self, app: App, position: u64, dialect: impl SocketDialect) -> Response {
        let Self { who, answer, upgrade, guard } = self;
        let subscriber = Subscriber::new(app.clone(), who, position, "ws");
        tokio::spawn(async move {
            match upgrade.await {
                Ok(upgraded) => Socket::new(upgraded, app).await.serve(subscriber, dialect).await,
                Err(error) => tracing::debug!("a connection did not become a WebSocket: {error}"),
            }
            drop(guard);
        });
        answer
    }
}

struct Socket {
    stream: WebSocketStream<MeteredStream<TokioIo<Upgraded>>>,
    app: App,
    messages: DefaultDirectRateLimiter,
}

#[derive(Debug)]
enum SocketEnd {
    /// We close it.
    With(CloseCode, &'static str),
    /// The client closed it or is gone.
    Gone,
}

impl From<FeedEnd> for SocketEnd {
    fn from(ended: FeedEnd) -> Self {
        match ended {
            FeedEnd::Closing => SocketEnd::With(CloseCode::Away, "the server is ending; come back with your position"),
            FeedEnd::Revoked => SocketEnd::With(CloseCode::Policy, "the token was revoked"),
            FeedEnd::Unreadable => {
                SocketEnd::With(CloseCode::Error, "the log cannot be read; come back with your position")
            }
            FeedEnd::LogLost => SocketEnd::With(CloseCode::Error, LOG_LOST),
        }
    }
}

impl From<SocketError> for SocketEnd {
    fn from(error: SocketError) -> Self {
        match error {
            SocketError::Capacity(_) => SocketEnd::With(CloseCode::Size, "a message has at most 1 MiB"),
            SocketError::Protocol(_) => SocketEnd::With(CloseCode::Protocol, "that is not the WebSocket protocol"),
            SocketError::Utf8(_) => SocketEnd::With(CloseCode::Invalid, "a text message is UTF-8"),
            SocketError::Io(error) if meter::is_too_much(&error) => TOO_MUCH,
            _ => SocketEnd::Gone,
        }
    }
}

const TOO_MUCH: SocketEnd = SocketEnd::With(CloseCode::Policy, "you send too much; only a position is ever needed");

impl Socket {
    async fn new(upgraded: Upgraded, app: App) -> Self {
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX))
            .read_buffer_size(4 * 1024)
            .write_buffer_size(WRITE_TOGETHER);
        let metered = MeteredStream::new(TokioIo::new(upgraded));
        let stream = WebSocketStream::from_raw_socket(metered, Role::Server, Some(config)).await;
        let [burst, each_second] = [MESSAGES.0, MESSAGES.1].map(|n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN));
        let messages = RateLimiter::direct(Quota::per_second(each_second).allow_burst(burst));
        Self { stream, app, messages }
    }

    async fn serve(mut self, mut subscriber: Subscriber, dialect: impl SocketDialect) {
        let over = match self.talk(&mut subscriber, &dialect).await {
            Ok(never) => match never {},
            Err(over) => over,
        };
        // It no longer counts as a subscriber.
        drop(subscriber);
        if let SocketEnd::With(code, reason) = over {
            tracing::debug!("a WebSocket is closed: {reason}");
            self.say_farewell(code, reason).await;
        }
    }

    async fn talk(
        &mut self,
        subscriber: &mut Subscriber,
        dialect: &impl SocketDialect,
    ) -> Result<std::convert::Infallible, SocketEnd> {
        self.send(dialect.begin(subscriber.position())).await?;
        let every = self.app.heartbeat();
        let mut heartbeat = interval_at(Instant::now() + every, every);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut silent = 0;
        loop {
            tokio::select! {
                next = subscriber.next() => {
                    let mut event = next?;
                    // Send what is available together.
                    loop {
                        if let Some(frame) = dialect.tell(&self.app, subscriber.who(), &event).await? {
                            subscriber.must_stand().await?;
                            self.write(Message::text(frame), true).await?;
                        }
                        match subscriber.ready() {
                            Some(another) => event = another,
                            None => break,
                        }
                    }
                    self.flush().await?;
                }
                heard = self.stream.next() => {
                    silent = 0;
                    if let Some(position) = self.heard(heard, dialect)? {
                        let end = self.app.engine.position().await.map_err(|_| FeedEnd::Unreadable)?;
                        if position > end {
                            return Err(SocketEnd::With(CloseCode::Policy, "the log ends before that position; begin anew"));
                        }
                        subscriber.must_stand().await?;
                        subscriber.go_on_from(position);
                        self.send(dialect.begin(position)).await?;
                    }
                }
                _ = heartbeat.tick() => {
                    silent += 1;
                    if silent > SILENT_MAX {
                        return Err(SocketEnd::With(CloseCode::Policy, "you answer no ping"));
                    }
                    self.write(Message::Ping(Bytes::new()), false).await?;
                }
            }
        }
    }

    fn heard(
        &self,
        heard: Option<Result<Message, SocketError>>,
        dialect: &impl SocketDialect,
    ) -> Result<Option<u64>, SocketEnd> {
        let message = heard.ok_or(SocketEnd::Gone)??;
        if self.messages.check().is_err() {
            return Err(TOO_MUCH);
        }
        match message {
            Message::Text(text) => dialect.hear(&text).map_err(|wanted| SocketEnd::With(CloseCode::Policy, wanted)),
            Message::Binary(_) => Err(SocketEnd::With(CloseCode::Unsupported, "send text, not bytes")),
            // Pings are answered while the next message is read or written.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Ok(None),
            // The library also answers it when this side closes.
            Message::Close(_) => Err(SocketEnd::With(CloseCode::Normal, "")),
        }
    }

    async fn send(&mut self, frame: Option<String>) -> Result<(), SocketEnd> {
        match frame {
            Some(frame) => self.write(Message::text(frame), false).await,
            None => Ok(()),
        }
    }

    /// Writes a message. If `more` follow, it may stay in the buffer.
    async fn write(&mut self, message: Message, more: bool) -> Result<(), SocketEnd> {
        let closing = self.app.closing.clone();
        tokio::select! {
            written = self.stream.feed(message) => written?,
            // A client that does not read must not delay the shutdown.
            () = closing.cancelled() => return Err(FeedEnd::Closing.into()),
        }
        if more { Ok(()) } else { self.flush().await }
    }

    async fn flush(&mut self) -> Result<(), SocketEnd> {
        let closing = self.app.closing.clone();
        tokio::select! {
            flushed = self.stream.flush() => Ok(flushed?),
            () = closing.cancelled() => Err(FeedEnd::Closing.into()),
        }
    }

    /// Sends the reason and waits briefly for the client to read it: closing a connection with
    /// unread bytes discards what was written last.
    async fn say_farewell(mut self, code: CloseCode, reason: &'static str) {
        let goodbye = async {
            // If the client closed first, flushing answers it; it may also be gone.
            let _ = self.stream.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
            let _ = self.stream.flush().await;
            while let Some(heard) = self.stream.next().await {
                heard?;
            }
            Ok::<_, SocketError>(())
        };
        if let Ok(Ok(())) = timeout(FAREWELL, goodbye).await {
            return;
        }
        let mut raw = self.stream.into_inner().into_inner();
        let rest = async {
            raw.shutdown().await?;
            tokio::io::copy(&mut raw.take(FAREWELL_BYTES), &mut tokio::io::sink()).await
        };
        let _ = timeout(FAREWELL, rest).await;
    }
}

impl ApiError {
    fn upgrade_required() -> Self {
        let detail = "this address speaks WebSocket, version 13; GET /v1/events has the same for HTTP";
        Self::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", detail)
            .with_header(header::UPGRADE, HeaderValue::from_static("websocket"))
    }
}
