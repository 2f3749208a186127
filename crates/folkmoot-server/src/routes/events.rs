//! `GET /v1/events`: the feed, as server-sent events.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response, Sse, sse},
};
use folkmoot_api::wire;
use folkmoot_core::Event;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::{self, Authenticated},
    error::ApiError,
    extract::{self, Query},
};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The last position you have, if you cannot send the header; 0 is the beginning.
    #[serde(default)]
    after: Option<u64>,
}

/// Follows the feed
///
/// Every event after `Last-Event-ID` (or from now on), in order, without gaps, and only after it is
/// committed. Reconnect with the last id and you miss nothing. Agents see only events of their own
/// gates. If the database has lost the end of its log, the last message has the type `error` and
/// contains a problem with the code `log_lost`.
#[utoipa::path(get, path = "/v1/events", tag = "feed",
    params(From, ("Last-Event-ID" = Option<u64>, Header, description = "The last position you have")),
    responses((status = 200, body = wire::FeedMessage, content_type = "text/event-stream"), (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(
    State(app): State<App>,
    who: Authenticated,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, ApiError> {
    let position = begin(&app, &headers, from).await?;
    let heartbeat = sse::KeepAlive::new().interval(app.heartbeat());
    // The position before any event, so that a client that disconnects now knows where to continue.
    let begins = stream::iter([Ok(sse::Event::default().id(position.to_string()))]);
    Ok(Sse::new(begins.chain(feed(app, who, position))).keep_alive(heartbeat).into_response())
}

impl From {
    /// From the beginning, unless a header says otherwise.
    pub(crate) fn the_beginning() -> Self {
        Self { after: Some(0) }
    }
}

/// The position after which to begin: the client's last one, or the log's end.
pub(crate) async fn begin(app: &App, headers: &HeaderMap, from: From) -> Result<u64, ApiError> {
    let after = match extract::only(headers, "last-event-id") {
        Some(id) => Some(id.ok().and_then(|id| id.to_str().ok()?.parse().ok()).ok_or_else(|| {
            ApiError::bad_request(
                "bad_position",
                "Last-Event-ID is the position of an event, a whole number, sent once",
            )
        })?),
        None => from.after,
    };
    let end = app.engine.position().await?;
    let position = after.unwrap_or(end);
    if position > end {
        let detail =
            format!("the log ends at {end}, before {position}; this is not the log that you know, so begin anew");
        return Err(ApiError::bad_request("bad_position", detail));
    }
    Ok(position)
}

fn feed(app: App, who: Authenticated, position: u64) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(Some(Subscriber::new(app, who, position, "sse")), |subscriber| async move {
        let mut subscriber = subscriber?;
        let event = match subscriber.next().await {
            Ok(event) => event,
            Err(FeedEnd::LogLost) => return Some((Ok(log_lost()), None)),
            Err(FeedEnd::Closing | FeedEnd::Revoked | FeedEnd::Unreadable) => return None,
        };
        let text = serde_json::to_string(&wire::Event::new(&event)).unwrap_or_default();
        let message = sse::Event::default().id(event.position.to_string()).event(event.fact.kind.as_ref()).data(text);
        Some((Ok(message), Some(subscriber)))
    })
}

/// The last message if the database has lost the end of its log.
fn log_lost() -> sse::Event {
    let problem = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "log_lost", LOG_LOST).into_problem();
    sse::Event::default().event("error").data(serde_json::to_string(&problem).unwrap_or_default())
}

/// Why a stream ends whose positions are no longer valid. A WebSocket's reason has at most 123
/// bytes.
pub(crate) const LOG_LOST: &str =
    "the database lost the end of its log: what you were told last may be gone; read it again and begin anew";

/// A subscriber of the feed, over SSE or a WebSocket.
pub(crate) struct Subscriber {
    app: App,
    who: Authenticated,
    position: u64,
    ready: VecDeque<Arc<Event>>,
    door: &'static str,
    /// Changes when the log that the position belongs to is gone.
    epoch: watch::Receiver<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedEnd {
    /// The server is shutting down.
    Closing,
    Revoked,
    Unreadable,
    LogLost,
}

impl Subscriber {
    pub(crate) fn new(app: App, who: Authenticated, position: u64, door: &'static str) -> Self {
        metrics::gauge!("folkmoot_subscribers", "door" => door).increment(1);
        let epoch = app.engine.log_epoch();
        Self { app, who, position, ready: VecDeque::new(), door, epoch }
    }

    pub(crate) fn who(&self) -> &Authenticated {
        &self.who
    }

    /// Called before each frame: a revoked token gets nothing more.
    pub(crate) async fn must_stand(&self) -> Result<(), FeedEnd> {
        match auth::stands(&self.app, &self.who.token).await {
            true => Ok(()),
            false if self.app.closing.is_cancelled() => Err(FeedEnd::Closing),
            false => Err(FeedEnd::Revoked),
        }
    }

    /// How far it has read. Some of that may still be [`ready`](Self::ready).
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Discards what it has read and continues after `position`.
    pub(crate) fn go_on_from(&mut self, position: u64) {
        self.position = position;
        self.ready.clear();
    }

    /// The next event, if it is available without waiting.
    pub(crate) fn ready(&mut self) -> Option<Arc<Event>> {
        if self.epoch.has_changed().unwrap_or(false) {
            return None;
        }
        self.ready.pop_front()
    }

    /// The next event. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Arc<Event>, FeedEnd> {
        loop {
            if self.epoch.has_changed().unwrap_or(false) {
                return Err(FeedEnd::LogLost);
            }
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let followed = tokio::select! {
                Ok(()) = self.epoch.changed() => {
                    self.epoch.mark_changed();
                    return Err(FeedEnd::LogLost);
                }
                followed = self.app.engine.follow(&self.who.principal, self.position) => followed,
                () = self.app.closing.cancelled() => return Err(FeedEnd::Closing),
            };
            let (reached, events) = followed.map_err(|error| {
                tracing::warn!("a feed ends early: {error}");
                FeedEnd::Unreadable
            })?;
            if self.app.engine.is_revoked(&self.who.token) {
                return Err(FeedEnd::Revoked);
            }
            self.position = reached;
            self.ready = events.into();
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        metrics::gauge!("folkmoot_subscribers", "door" => self.door).decrement(1);
    }
}
