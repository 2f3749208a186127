//! `GET /v1/questions/{id}/wait`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, WaitFor};

use super::parse_id;
use crate::{
    app::App,
    auth::{Reader, SendPermit},
    error::ApiError,
    extract::{PathText, Query},
    routes::gates::wait::patience,
};

/// Waits for an answer
///
/// Answers when the question is closed, or at the timeout with its current state. An earlier answer
/// is returned at once.
#[utoipa::path(get, path = "/v1/questions/{id}/wait", operation_id = "wait_for_answer", tag = "questions", params(("id" = String, Path), WaitFor),
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn wait(
    State(app): State<App>,
    Reader(who): Reader,
    sending: SendPermit,
    PathText(id): PathText,
    Query(wait): Query<WaitFor>,
) -> Result<Json<wire::Question>, ApiError> {
    let id = parse_id(&id)?;
    sending.release();
    tokio::select! {
        closed = app.engine.wait_for_answer(&who.principal, &id, patience(wait.timeout_ms)) => drop(closed?),
        () = app.closing.cancelled() => {}
    }
    sending.hold_page(&app, &who.principal).await;
    let found = app.engine.question(&who.principal, &id).await?;
    Ok(Json(wire::Question::new(found.question, found.text)))
}
