//! `GET /v1/questions/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem};

use super::{parse_id, shown};
use crate::{app::App, auth::Reader, error::ApiError, extract::PathText};

/// Shows a question
///
/// To the asker of a denied one this is its delivery: from then on the denial does not cover it any more.
#[utoipa::path(get, path = "/v1/questions/{id}", operation_id = "show_question", tag = "questions", params(("id" = String, Path)),
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    Reader(who): Reader,
    PathText(id): PathText,
) -> Result<Json<wire::Question>, ApiError> {
    let found = app.engine.question(&who.principal, &parse_id(&id)?).await?;
    Ok(Json(shown(&app.engine, who, found).await?))
}
