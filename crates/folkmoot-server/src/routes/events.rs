//! `GET /v1/events`: the feed, as server-sent events.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, Sse, sse},
};
use folkmoot_api::wire;
use folkmoot_core::Event;
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{self, Query},
};

/// How often a silent stream says that it is still there.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// From where on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct From {
    /// The last position you have, where a header cannot be sent; 0 begins at the beginning.
    #[serde(default)]
    after: Option<u64>,
}

/// Follows the feed
///
/// Every event from `Last-Event-ID` on (or from now on), in order, without a gap, and never before it is committed.
/// Come back with the last id you saw and you miss nothing. Agents see what concerns their own gates.
#[utoipa::path(get, path = "/v1/events", tag = "feed",
    params(From, ("Last-Event-ID" = Option<u64>, Header, description = "The last position you have")),
    responses((status = 200, body = wire::FeedMessage, content_type = "text/event-stream"), (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(
    State(app): State<App>,
    who: Authenticated,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, ApiError> {
    let after = match extract::only(&headers, "last-event-id") {
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
    let heartbeat = sse::KeepAlive::new().interval(HEARTBEAT);
    // The position alone, before any event: whoever loses the connection now still knows from where to go on.
    let begins = stream::iter([Ok(sse::Event::default().id(position.to_string()))]);
    Ok(Sse::new(begins.chain(feed(app, who, position))).keep_alive(heartbeat).into_response())
}

struct Subscriber {
    app: App,
    who: Authenticated,
    position: u64,
    ready: VecDeque<Arc<Event>>,
}

fn feed(app: App, who: Authenticated, position: u64) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let subscriber = Subscriber { app, who, position, ready: VecDeque::new() };
    stream::unfold(subscriber, |mut subscriber| async move {
        let event = subscriber.next().await?;
        let text = serde_json::to_string(&wire::Event::new(&event)).unwrap_or_default();
        let message = sse::Event::default().id(event.position.to_string()).event(event.fact.kind.as_ref()).data(text);
        Some((Ok(message), subscriber))
    })
}

impl Subscriber {
    /// The next event; `None` when the server ends, the token was revoked, or the log cannot be read.
    async fn next(&mut self) -> Option<Arc<Event>> {
        while self.ready.is_empty() {
            let followed = tokio::select! {
                followed = self.app.engine.follow(&self.who.principal, self.position) => followed,
                () = self.app.closing.cancelled() => return None,
            };
            let (reached, events) = followed.map_err(|error| tracing::warn!("a feed ends early: {error}")).ok()?;
            self.app.engine.authenticate(&self.who.secret)?;
            self.position = reached;
            self.ready = events.into();
        }
        self.ready.pop_front()
    }
}
