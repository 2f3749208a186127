//! `POST /v1/runs/{id}/cancel`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, WithReason};

use super::brief;
use crate::{
    app::App,
    debates,
    error::ApiError,
    extract::{AuthenticatedCall, RunPath},
};

/// Cancels a run
///
/// In any state. Work in flight is dropped, and its gates, questions and child runs end with it.
#[utoipa::path(post, path = "/v1/runs/{id}/cancel", operation_id = "cancel_run", tag = "runs", request_body = WithReason,
    params(("id" = String, Path)),
    responses((status = 200, body = wire::Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    RunPath(run): RunPath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<WithReason>,
) -> Result<Json<wire::Run>, ApiError> {
    let cancelled = app.engine.cancel_run(caller, run, body.reason.unwrap_or_default()).await?;
    debates::tidy::tidy(&app, &cancelled).await;
    Ok(Json(brief(&app.engine, cancelled)))
}
