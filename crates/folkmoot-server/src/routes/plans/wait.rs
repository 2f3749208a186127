//! `GET /v1/plans/{id}/wait`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};
use folkmoot_core::GateId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::{Authenticated, SendPermit},
    error::ApiError,
    extract::{Query, RunPath},
    plans,
    routes::gates::wait::patience,
};

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitPlanParams {
    /// A gate that you already know; waits for another one.
    #[param(value_type = Option<String>)]
    after: Option<GateId>,
    /// The longest wait; default 30 seconds, at most a minute.
    timeout_ms: Option<u64>,
}

/// Waits until a plan needs a decision, or is over
///
/// Answers with the plan's state then, or at the timeout.
#[utoipa::path(get, path = "/v1/plans/{id}/wait", operation_id = "wait_for_plan", tag = "plans", params(("id" = String, Path), WaitPlanParams),
    responses((status = 200, body = wire::Plan), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    who: Authenticated,
    sending: SendPermit,
    RunPath(id): RunPath,
    Query(wait): Query<WaitPlanParams>,
) -> Result<Json<wire::Plan>, ApiError> {
    let patience = patience(wait.timeout_ms);
    sending.release();
    plans::settled(&app, &who.principal, &id, wait.after.as_ref(), patience, false).await?;
    sending.hold_page(&app, &who.principal).await;
    Ok(Json(plans::planned(&app.engine, &who.principal, &id).await?.on_the_wire(true)))
}
