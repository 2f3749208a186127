//! `POST /v1/runs/{id}/end`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, EndRun, Problem};
use folkmoot_core::{
    Refusal,
    run::{Conclusion, RunOutcome},
    text,
};

use super::brief;
use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, RunPath},
};

/// Ends a run that you execute
///
/// Whatever is still open in it ends with it.
#[utoipa::path(post, path = "/v1/runs/{id}/end", operation_id = "end_run", tag = "runs", request_body = EndRun,
    params(("id" = String, Path)),
    responses((status = 200, body = wire::Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn end(
    State(app): State<App>,
    RunPath(run): RunPath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<EndRun>,
) -> Result<Json<wire::Run>, ApiError> {
    let ended = app.engine.end_run(caller, run, conclusion(body)?).await?;
    Ok(Json(brief(&app.engine, ended)))
}

/// Fields that do not belong to the status are refused, because the caller means something else.
fn conclusion(EndRun { status, output, code, reason }: EndRun) -> Result<Conclusion, Refusal> {
    match (status, output, code, reason) {
        (RunOutcome::Completed, output, None, None) => {
            Ok(Conclusion::Completed { output: text::json("output", &output.unwrap_or_default())? })
        }
        (RunOutcome::Completed, ..) => {
            Err(Refusal::invalid("status", "is completed, which takes no code and no reason"))
        }
        (RunOutcome::Failed, None, code, reason) => {
            let code = code.unwrap_or_else(|| RunOutcome::Failed.word().to_owned());
            Ok(Conclusion::Failed { code, message: reason.unwrap_or_default() })
        }
        (RunOutcome::Failed, ..) => Err(Refusal::invalid("status", "is failed, which takes no output")),
        (RunOutcome::Cancelled, ..) => Err(Refusal::invalid("status", "is cancelled; use the run's /cancel for that")),
    }
}
