//! `GET /v1/questions/{id}/wait`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, WaitFor};

use super::parse_id;
use crate::{
    app::App,
    auth::Reader,
    error::ApiError,
    extract::{PathText, Query},
    routes::gates::wait::patience,
};

/// Waits for an answer
///
/// Answers when the question is closed, or at the timeout with the question as it is. An answer
/// that came first counts.
#[utoipa::path(get, path = "/v1/questions/{id}/wait", operation_id = "wait_for_answer", tag = "questions", params(("id" = String, Path), WaitFor),
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    Reader(who): Reader,
    PathText(id): PathText,
    Query(wait): Query<WaitFor>,
) -> Result<Json<wire::Question>, ApiError> {
    let id = parse_id(&id)?;
    let found = tokio::select! {
        found = app.engine.wait_for_answer(&who.principal, &id, patience(wait.timeout_ms)) => found?,
        () = app.closing.cancelled() => app.engine.question(&who.principal, &id).await?,
    };
    Ok(Json(wire::Question::new(found.question, found.text)))
}
