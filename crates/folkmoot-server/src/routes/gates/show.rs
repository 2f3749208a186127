//! `GET /v1/gates/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use crate::{app::App, auth::PageReader, error::ApiError, extract::GatePath, view};

/// Shows a gate
///
/// With the content of its artifacts.
#[utoipa::path(get, path = "/v1/gates/{id}", operation_id = "show_gate", tag = "gates", params(("id" = String, Path)),
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    PageReader(who): PageReader,
    GatePath(id): GatePath,
) -> Result<Json<wire::Gate>, ApiError> {
    let found = app.engine.gate(&who.principal, &id).await?;
    Ok(Json(view::whole(&app.engine, found).await?))
}
