//! `POST /v1/gates/{id}/extend`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Extend, Problem};
use folkmoot_core::gate::Extension;

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, GatePath},
    view,
};

/// Gives a gate more time
///
/// Counted from now. A deadline never moves closer.
#[utoipa::path(post, path = "/v1/gates/{id}/extend", tag = "gates", params(("id" = String, Path)), request_body = Extend,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn extend(
    State(app): State<App>,
    GatePath(gate): GatePath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Extend>,
) -> Result<Json<wire::Gate>, ApiError> {
    let extended = app.engine.extend(caller, Extension { gate, timeout: body.timeout_ms }).await?;
    Ok(Json(view::written(&app.engine, extended).await?))
}
