//! `GET /v1/debates/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use crate::{app::App, auth::Authenticated, debates, error::ApiError, extract::RunPath};

/// Shows a debate
///
/// Its row of `debate_sessions`, how far it is, and the gate at which it waits.
#[utoipa::path(get, path = "/v1/debates/{id}", operation_id = "show_debate", tag = "debates", params(("id" = String, Path)),
    responses((status = 200, body = wire::Debate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    who: Authenticated,
    RunPath(id): RunPath,
) -> Result<Json<wire::Debate>, ApiError> {
    Ok(Json(debates::held(&app, &who.principal, &id).await?.on_the_wire()))
}
