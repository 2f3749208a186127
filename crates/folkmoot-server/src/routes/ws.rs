//! `GET /v1/ws`: the feed, as WebSocket frames.

use axum::{extract::State, http::HeaderMap, response::Response};
use folkmoot_api::wire;
use folkmoot_core::Event;
use serde::Deserialize;

use super::events::{self, FeedEnd, From};
use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::Query,
    socket::{SocketDialect, SocketUpgrade},
};

/// Follows the feed over a WebSocket
///
/// As `/v1/events`: each text frame is an event. The first frame is `{"position": …}`: now, or
/// after `after`. A client may send `{"after": POSITION}` to restart there. Browsers, which cannot
/// send a header, offer the subprotocols `folkmoot.v1` and `folkmoot.bearer.TOKEN`.
#[utoipa::path(get, path = "/v1/ws", tag = "feed", params(From),
    responses((status = 101, description = "Frames follow, each a wire event"),
        (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn ws(
    State(app): State<App>,
    knock: SocketUpgrade,
    headers: HeaderMap,
    Query(from): Query<From>,
) -> Result<Response, ApiError> {
    let position = events::begin(&app, &headers, from).await?;
    Ok(knock.admit(app, position, FeedDialect))
}

struct FeedDialect;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FeedParams {
    after: u64,
}

impl SocketDialect for FeedDialect {
    fn begin(&self, position: u64) -> Option<String> {
        Some(format!(r#"{{"position":{position}}}"#))
    }

    async fn tell(&self, _: &App, _: &Authenticated, event: &Event) -> Result<Option<String>, FeedEnd> {
        Ok(serde_json::to_string(&wire::Event::new(event)).ok())
    }

    fn hear(&self, text: &str) -> Result<Option<u64>, &'static str> {
        let asked: FeedParams = serde_json::from_str(text).map_err(|_| r#"send {"after": POSITION}, or nothing"#)?;
        Ok(Some(asked.after))
    }
}
