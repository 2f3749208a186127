//! `GET /v1/plans/{id}/events`: the progress of a plan, as server-sent events.

use axum::{
    extract::State,
    http::HeaderMap,
    response::{IntoResponse, Response, Sse, sse},
};
use folkmoot_api::wire;
use folkmoot_core::RunId;

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::RunPath,
    plans,
    routes::events::{From, begin},
    run_frames,
};

/// Follows a plan
///
/// From its beginning, or after `Last-Event-ID`: `planning_started`, `iteration_started`,
/// `iteration_progress`, `awaiting_approval`, `proposal_approved`, `checkpoint_approved`,
/// `checkpoint_rejected`, `paused`, `synthesis_started`, and at its end `final_plan` and
/// `complete`, or `cancelled`, or `error`. Reconnect with the last id to miss nothing.
#[utoipa::path(get, path = "/v1/plans/{id}/events", operation_id = "follow_plan", tag = "plans",
    params(("id" = String, Path), ("Last-Event-ID" = Option<u64>, Header, description = "The last position you have")),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = "4XX", body = wire::Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(
    State(app): State<App>,
    who: Authenticated,
    headers: HeaderMap,
    RunPath(id): RunPath,
) -> Result<Response, ApiError> {
    stream(app, who, &headers, id).await
}

pub(crate) async fn stream(app: App, who: Authenticated, headers: &HeaderMap, id: RunId) -> Result<Response, ApiError> {
    let planned = plans::planned(&app.engine, &who.principal, &id).await?;
    let position = begin(&app, headers, From::the_beginning()).await?;
    let heartbeat = sse::KeepAlive::new().interval(app.heartbeat());
    let session = planned.run.start.session_id.clone();
    Ok(Sse::new(run_frames::follow::<plans::frames::PlanRunFrames>(app, who, id, session, position))
        .keep_alive(heartbeat)
        .into_response())
}
