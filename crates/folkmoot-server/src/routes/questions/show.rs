//! `GET /v1/questions/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use super::parse_id;
use crate::{app::App, auth::Reader, error::ApiError, extract::PathText};

/// Shows a question
///
/// Changes nothing: the asker of a denied question confirms it with `acknowledge`.
#[utoipa::path(get, path = "/v1/questions/{id}", operation_id = "show_question", tag = "questions", params(("id" = String, Path)),
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    Reader(who): Reader,
    PathText(id): PathText,
) -> Result<Json<wire::Question>, ApiError> {
    let found = app.engine.question(&who.principal, &parse_id(&id)?).await?;
    Ok(Json(wire::Question::new(found.question, found.text)))
}
