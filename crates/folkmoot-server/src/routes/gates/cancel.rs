//! `POST /v1/gates/{id}/cancel`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Cancel, Problem};

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, GatePath},
    view,
};

/// Withdraws a gate
///
/// Its run does not pass: it is stopped as by a rejection, until people approve another gate of it.
/// Only a gate that somebody else put into the run, and withdrew, lets it go on.
#[utoipa::path(post, path = "/v1/gates/{id}/cancel", operation_id = "cancel_gate", tag = "gates", params(("id" = String, Path)), request_body = Cancel,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    GatePath(gate): GatePath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Cancel>,
) -> Result<Json<wire::Gate>, ApiError> {
    let cancelled = app.engine.cancel(caller, gate, body.reason.unwrap_or_default()).await?;
    Ok(Json(view::written(&app.engine, cancelled).await?))
}
