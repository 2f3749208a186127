//! `POST /v1/questions`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, Ask, Problem};
use folkmoot_core::question::NewQuestion;

use crate::{app::App, error::ApiError, extract::AuthenticatedCall};

/// Asks a question
///
/// A halting question stops those it covers until it is closed: BLOCKING and ESCALATION the agent,
/// APPROVAL its session too, EMERGENCY everyone; `halts` widens that.
#[utoipa::path(post, path = "/v1/questions", operation_id = "ask", tag = "questions", request_body = Ask,
    responses((status = 201, body = wire::Question), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn ask(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Ask>,
) -> Result<Response, ApiError> {
    let text = body.text.clone();
    let asking = NewQuestion {
        id: app.engine.new_question_id(),
        agent_id: body.agent_id,
        run_id: body.run_id,
        session_id: body.session_id,
        question_type: body.question_type,
        text: body.text,
        options: body.options,
        default: body.default,
        timeout: body.timeout_ms,
        halts: body.halts,
        priority: body.priority,
    };
    let question = app.engine.ask(caller, asking).await?;
    let location = format!("/v1/questions/{}", question.id);
    let shown = Json(wire::Question::new(question, Some(text)));
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], shown).into_response())
}
