//! `GET /v1/runs/{id}/wait`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, WaitFor};

use super::shown;
use crate::{
    app::App,
    auth::{Authenticated, SendPermit},
    error::ApiError,
    extract::{Query, RunPath},
    routes::gates::wait::patience,
};

/// Waits until a run is over
///
/// Answers when it is, or at the timeout with its current state.
#[utoipa::path(get, path = "/v1/runs/{id}/wait", operation_id = "wait_for_run", tag = "runs", params(("id" = String, Path), WaitFor),
    responses((status = 200, body = wire::Run), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    who: Authenticated,
    sending: SendPermit,
    RunPath(id): RunPath,
    Query(wait): Query<WaitFor>,
) -> Result<Json<wire::Run>, ApiError> {
    sending.release();
    let run = tokio::select! {
        run = app.engine.wait_for_end(&who.principal, &id, patience(wait.timeout_ms)) => run?,
        () = app.closing.cancelled() => app.engine.run(&who.principal, &id).await?,
    };
    sending.hold_page(&app, &who.principal).await;
    Ok(Json(shown(&app.engine, run).await?))
}
