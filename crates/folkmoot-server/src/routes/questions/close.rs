//! `POST /v1/questions/{id}/answer`, `deny`, `skip` and `cancel`.

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Answer, Problem, WithReason};
use folkmoot_core::question::{Close, Reply};
use folkmoot_engine::Caller;

use super::parse_id;
use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Answers a question
///
/// Reviewers and admins only, and not the asker. The first answer counts; later ones get 409 with
/// the first.
#[utoipa::path(post, path = "/v1/questions/{id}/answer", tag = "questions", params(("id" = String, Path)),
    request_body = Answer,
    responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn answer(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Answer>,
) -> Result<Json<wire::Question>, ApiError> {
    close(&app, caller, &id, Close::Answer(body.answer), body.reason).await
}

macro_rules! verbs {
    ($($(#[doc = $doc:literal])+ $verb:ident, $path:literal, $close:ident, $id:literal;)+) => {
        $($(#[doc = $doc])+
        #[utoipa::path(post, path = $path, operation_id = $id, tag = "questions", params(("id" = String, Path)), request_body = WithReason,
            responses((status = 200, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
        pub(crate) async fn $verb(
            State(app): State<App>,
            PathText(id): PathText,
            AuthenticatedCall { caller, body }: AuthenticatedCall<WithReason>,
        ) -> Result<Json<wire::Question>, ApiError> {
            close(&app, caller, &id, Close::$close, body.reason).await
        })+
    };
}

verbs! {
    /// Denies a question
    ///
    /// If the question halts, it keeps halting its asker until the asker has acknowledged the
    /// denial, or a reviewer has released it (`acknowledge`).
    deny, "/v1/questions/{id}/deny", Deny, "deny_question";
    /// Skips a question
    ///
    /// Closes it without an answer. A halting one only by a reviewer.
    skip, "/v1/questions/{id}/skip", Skip, "skip_question";
    /// Cancels a question
    ///
    /// Withdraws it. A halting one only by a reviewer, or by an admin with a reason.
    cancel, "/v1/questions/{id}/cancel", Cancel, "cancel_question";
}

async fn close(
    app: &App,
    caller: Caller,
    id: &str,
    close: Close,
    reason: Option<String>,
) -> Result<Json<wire::Question>, ApiError> {
    let reply = Reply { question: parse_id(id)?, close, reason: reason.unwrap_or_default() };
    let question = app.engine.close_question(caller, reply).await?;
    let text = app.engine.text_of(&question).await?;
    Ok(Json(wire::Question::new(question, text)))
}
