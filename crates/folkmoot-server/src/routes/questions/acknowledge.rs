//! `POST /v1/questions/{id}/acknowledge`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, WithReason};

use super::parse_id;
use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Acknowledges a denial
///
/// Confirms with the asker's token that it received the denial, which then no longer halts the
/// asker. Reviewers and admins use it to release an asker that does not respond; the question stays
/// denied. For other callers, and questions that were not denied, nothing changes.
#[utoipa::path(post, path = "/v1/questions/{id}/acknowledge", operation_id = "acknowledge_denial", tag = "questions", params(("id" = String, Path)),
    request_body = WithReason,
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn acknowledge(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body }: AuthenticatedCall<WithReason>,
) -> Result<Json<wire::Question>, ApiError> {
    let question = app.engine.acknowledge(caller, parse_id(&id)?, body.reason.unwrap_or_default()).await?;
    let text = app.engine.text_of(&question).await?;
    Ok(Json(wire::Question::new(question, text)))
}
