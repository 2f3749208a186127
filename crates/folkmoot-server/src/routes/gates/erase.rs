//! `DELETE /v1/gates/{id}/contents`

use axum::{Json, extract::State};
use folkmoot_api::wire::{Erase, Erased, Problem};

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, GatePath},
    routes::artifacts,
};

/// Erases everything a gate has shown
///
/// Its summaries, artifacts and edited text, once it is decided; also in other gates that show the
/// same. Admins only, with a reason.
#[utoipa::path(delete, path = "/v1/gates/{id}/contents", operation_id = "erase_gate", tag = "artifacts",
    params(("id" = String, Path)), request_body = Erase,
    responses((status = 200, body = Erased), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn erase(
    State(app): State<App>,
    GatePath(gate): GatePath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Erase>,
) -> Result<Json<Erased>, ApiError> {
    Ok(Json(artifacts::erased(app.engine.erase_gate(caller, &gate, body.reason).await?)))
}
