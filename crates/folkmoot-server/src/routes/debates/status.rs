//! `GET /v1/debates/{id}/status`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateProgress, Problem};

use crate::{app::App, auth::Authenticated, debates, error::ApiError, extract::RunPath};

/// Says how far a debate is
///
/// Phase, round, who still speaks, what it has cost, and the gate at which it waits.
#[utoipa::path(get, path = "/v1/debates/{id}/status", operation_id = "debate_status", tag = "debates", params(("id" = String, Path)),
    responses((status = 200, body = DebateProgress), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn status(
    State(app): State<App>,
    who: Authenticated,
    RunPath(id): RunPath,
) -> Result<Json<DebateProgress>, ApiError> {
    Ok(Json(debates::held(&app, &who.principal, &id).await?.progress()))
}
