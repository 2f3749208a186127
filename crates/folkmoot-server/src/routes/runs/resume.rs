//! `POST /v1/runs/{id}/resume`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, ResumeRun};

use super::brief;
use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, RunPath},
};

/// Resumes a run
///
/// Continues a stopped run after somebody has looked at it. It does not pass a gate: a waiting run
/// continues when the decision comes.
#[utoipa::path(post, path = "/v1/runs/{id}/resume", operation_id = "resume_run", tag = "runs", request_body = ResumeRun,
    params(("id" = String, Path)),
    responses((status = 200, body = wire::Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn resume(
    State(app): State<App>,
    RunPath(run): RunPath,
    AuthenticatedCall { caller, body: ResumeRun {} }: AuthenticatedCall<ResumeRun>,
) -> Result<Json<wire::Run>, ApiError> {
    let resumed = app.engine.resume_run(caller, run).await?;
    Ok(Json(brief(&app.engine, resumed)))
}
