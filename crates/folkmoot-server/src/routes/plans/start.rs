//! `POST /v1/plans`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, Problem, StartPlan};

use crate::{app::App, error::ApiError, extract::AuthenticatedCall, plans};

/// Starts a plan
///
/// With more than one iteration it stops at a gate before the first, and at another after every
/// few. Decide on them as on any gate. Starting the same in the same session again returns the
/// existing plan.
#[utoipa::path(post, path = "/v1/plans", operation_id = "start_plan", tag = "plans", request_body = StartPlan,
    responses((status = 202, body = wire::Plan), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn start(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<StartPlan>,
) -> Result<Response, ApiError> {
    let principal = caller.principal.clone();
    let run = plans::start(&app, caller, body).await?;
    let location = format!("/v1/plans/{}", run.start.id);
    let planned = plans::of_run(&app.engine, &principal, run).await?;
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(planned.on_the_wire(false))).into_response())
}
