//! `POST /v1/debates`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{DebateStarted, Problem, StartDebate};
use folkmoot_debate::record::DebateStatus;

use crate::{app::App, debates::config_from_request, error::ApiError, extract::AuthenticatedCall};

/// Starts a debate
///
/// Several agents answer, attack each other's answers, execute what can be executed, and vote. With
/// `gates` it stops after the phases that you name until somebody has decided: `approve` and
/// `reject` beneath it, or as on any gate.
#[utoipa::path(post, path = "/v1/debates", operation_id = "start_debate", tag = "debates", request_body = StartDebate,
    responses((status = 202, body = DebateStarted), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn start(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<StartDebate>,
) -> Result<Response, ApiError> {
    let run = config_from_request::start(&app, caller, body).await?;
    let location = format!("/v1/debates/{}", run.start.id);
    // As it was started; a repetition is answered as the first was.
    let started = DebateStarted { id: run.start.id, session_id: run.start.session_id, status: DebateStatus::Pending };
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], Json(started)).into_response())
}
