//! `GET /v1/debates/{id}/events`: a debate, as server-sent events.

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, Sse, sse},
};
use folkmoot_api::wire;

use crate::{
    app::App,
    auth::Authenticated,
    debates,
    error::ApiError,
    extract::RunPath,
    routes::events::{From, begin},
    run_frames,
};

/// Follows a debate
///
/// From its beginning, or after `Last-Event-ID`: what it tells (`debate.phase_started`,
/// `debate.turn`, `debate.tested`, `debate.vote` …) and what happens to its run, its gates and its
/// questions, as the feed has it; at its end `debate.ended` with the debate. Leaving changes
/// nothing, and whoever comes back misses nothing.
#[utoipa::path(get, path = "/v1/debates/{id}/events", operation_id = "follow_debate", tag = "debates",
    params(("id" = String, Path), ("Last-Event-ID" = Option<u64>, Header, description = "The last position you have")),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(
    State(app): State<App>,
    who: Authenticated,
    headers: HeaderMap,
    RunPath(id): RunPath,
) -> Result<Response, ApiError> {
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let position = begin(&app, &headers, From::the_beginning()).await?;
    let heartbeat = sse::KeepAlive::new().interval(app.heartbeat());
    let frames = run_frames::follow::<debates::frames::DebateRunFrames>(app, who, id, run.start.session_id, position);
    Ok(Sse::new(frames).keep_alive(heartbeat).into_response())
}
