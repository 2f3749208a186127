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
/// Says, with the token of whoever asked, that the denial was heard: from then on it does not cover
/// the asker any more. Reviewers and admins release an asker with it that will not say so; the
/// question stays denied. For everybody else, and for a question that was not denied, nothing
/// changes.
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
