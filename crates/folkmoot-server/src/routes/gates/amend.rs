//! `PATCH /v1/gates/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Amend, Problem};
use folkmoot_core::gate::Amendment;

use super::artifact;
use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, GatePath},
    view,
};

/// Amends a gate
///
/// Only its requester can. The gate gets a new revision and a new digest, and earlier votes are
/// void.
#[utoipa::path(patch, path = "/v1/gates/{id}", tag = "gates", params(("id" = String, Path)), request_body = Amend,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn amend(
    State(app): State<App>,
    GatePath(gate): GatePath,
    call: AuthenticatedCall<Amend>,
) -> Result<Json<wire::Gate>, ApiError> {
    let AuthenticatedCall { caller, body } = call;
    let Amend { title, summary, risk, artifacts } = body;
    let amendment = Amendment { gate, title, summary, risk, artifacts: None };
    let artifacts = artifacts.map(|artifacts| artifacts.into_iter().map(artifact).collect());
    let amended = app.engine.amend(caller, amendment, artifacts).await?;
    Ok(Json(view::written(&app.engine, amended).await?))
}
