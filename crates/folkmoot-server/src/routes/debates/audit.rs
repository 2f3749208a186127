//! `GET /v1/debates/{id}/audit`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateTrail, Problem, TrailQuery};

use crate::{
    app::App,
    auth::PageReader,
    debates::{self, trail},
    error::ApiError,
    extract::{Query, RunPath, limit},
};

const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 500;

/// Reads a debate's trail
///
/// Every prompt in full, every answer with its model and its cost, every tool call, vote,
/// reflection and decision, in the order of the log; and what all of it comes to. A page may end
/// before `limit` where its entries are long, and a prompt is never parted from its answer.
#[utoipa::path(get, path = "/v1/debates/{id}/audit", operation_id = "debate_audit", tag = "debates",
    params(("id" = String, Path), TrailQuery),
    responses((status = 200, body = DebateTrail), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn audit(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
    Query(query): Query<TrailQuery>,
) -> Result<Json<DebateTrail>, ApiError> {
    debates::run(&app.engine, &who.principal, &id).await?;
    let shown = limit(query.limit, LIMIT, LIMIT_MAX)?;
    Ok(Json(trail::page(&app.engine, &who.principal, &id, &query, shown as usize).await?))
}
