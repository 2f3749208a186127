//! `GET /v1/plans/{id}/wait`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};
use folkmoot_core::GateId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{Query, RunPath},
    plans,
    routes::gates::wait::patience,
};

/// For what, and for how long.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WaitPlanParams {
    /// A gate that you know of already: another one is waited for.
    #[param(value_type = Option<String>)]
    after: Option<GateId>,
    /// How long at most; 30 seconds unless it is given, and a minute at most.
    timeout_ms: Option<u64>,
}

/// Waits until a plan asks something, or is over
///
/// Answers with the plan as it is then, or at the timeout.
#[utoipa::path(get, path = "/v1/plans/{id}/wait", operation_id = "wait_for_plan", tag = "plans", params(("id" = String, Path), WaitPlanParams),
    responses((status = 200, body = wire::Plan), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    who: Authenticated,
    RunPath(id): RunPath,
    Query(wait): Query<WaitPlanParams>,
) -> Result<Json<wire::Plan>, ApiError> {
    let patience = patience(wait.timeout_ms);
    let planned = plans::settled(&app, &who.principal, &id, wait.after.as_ref(), patience, false).await?;
    Ok(Json(planned.on_the_wire(true)))
}
