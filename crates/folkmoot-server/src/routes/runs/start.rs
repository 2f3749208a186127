//! `POST /v1/runs`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, Problem, StartRun};
use folkmoot_core::{run::NewRun, text};

use super::brief;
use crate::{app::App, debates::config_from_request, error::ApiError, extract::AuthenticatedCall};

/// Starts a run
///
/// With a `workflow` this server executes it. Without one you execute it, record its steps and its
/// end. Starting the same under the same `id` again returns the existing run.
#[utoipa::path(post, path = "/v1/runs", operation_id = "start_run", tag = "runs", request_body = StartRun,
    responses((status = 201, body = wire::Run), (status = 200, body = wire::Run, description = "You started the same under this id before"), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn start(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<StartRun>,
) -> Result<Response, ApiError> {
    if let Some(kind) = body.kind {
        kind.must_fit(body.workflow.as_ref())?;
    }
    let new_run = NewRun {
        id: body.id.unwrap_or_else(|| app.engine.new_run_id()),
        workflow: body.workflow,
        title: body.title.unwrap_or_default(),
        session_id: body.session_id,
        input: body.input.map(|input| text::json("input", &input)).transpose()?,
        limits: body.limits.unwrap_or_default(),
    };
    config_from_request::check_input_of_workflow(&app, &caller.principal, &new_run).await?;
    let (started, is_new) = app.engine.start_or_find_run(caller, new_run).await?;
    let location = format!("/v1/runs/{}", started.start.id);
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, [(header::LOCATION, location)], Json(brief(&app.engine, started))).into_response())
}
