//! `GET /v1/questions`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, QuestionList};
use folkmoot_store::QuestionQuery;

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{Query, limit},
};

const LIMIT: u32 = 50;
const LIMIT_MAX: u32 = 500;

/// Lists questions
///
/// Pending ones by priority, then timeout, then age; others newest first. Agents see what they
/// asked, and with `run` all that a run of theirs asked.
#[utoipa::path(get, path = "/v1/questions", operation_id = "list_questions", tag = "questions", params(wire::QuestionListParams),
    responses((status = 200, body = QuestionList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<wire::QuestionListParams>,
) -> Result<Json<QuestionList>, ApiError> {
    let query = QuestionQuery {
        status: query.status,
        agent: query.agent,
        asked_by: query.asked_by,
        run: query.run,
        session: query.session,
        concerns: None,
        halting: false,
        after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
        limit: limit(query.limit, LIMIT, LIMIT_MAX)?,
    };
    let page = app.engine.questions(&who.principal, query).await?;
    let questions = page.items.into_iter().map(|view| wire::Question::new(view.question, view.text)).collect();
    Ok(Json(QuestionList { questions, next: page.next.map(|next| next.to_string()) }))
}
