//! `GET /v1/runs/{id}/events`

use axum::{Json, extract::State};
use folkmoot_api::wire::{AuditEntry, AuditPage, Problem};

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, RunPath},
    routes::audit::AuditParams,
};

/// Reads the events of a run
///
/// All events of the run, its gates and its questions, in order.
#[utoipa::path(get, path = "/v1/runs/{id}/events", operation_id = "read_run_events", tag = "runs", params(("id" = String, Path), AuditParams),
    responses((status = 200, body = AuditPage), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn events(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(run): RunPath,
    Query(part): Query<AuditParams>,
) -> Result<Json<AuditPage>, ApiError> {
    let limit = part.limit()?;
    // One more than the page, to know whether there is another page.
    let mut events = app.engine.events_of_run(&who.principal, &run, part.after, limit + 1).await?;
    let more = events.len() > limit as usize;
    events.truncate(limit as usize);
    let next = events.last().filter(|_| more).map(|event| event.position);
    events.retain(|event| part.token_id.is_none() || event.fact.token_id == part.token_id);
    Ok(Json(AuditPage { entries: events.into_iter().map(AuditEntry::from).collect(), next }))
}
