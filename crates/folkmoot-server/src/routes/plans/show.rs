//! `GET /v1/plans/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use crate::{app::App, auth::PageReader, error::ApiError, extract::RunPath, plans};

/// Shows a plan
///
/// With the gate at which it waits, and its result once it is complete.
#[utoipa::path(get, path = "/v1/plans/{id}", operation_id = "show_plan", tag = "plans", params(("id" = String, Path)),
    responses((status = 200, body = wire::Plan), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
) -> Result<Json<wire::Plan>, ApiError> {
    Ok(Json(plans::planned(&app.engine, &who.principal, &id).await?.on_the_wire(true)))
}
