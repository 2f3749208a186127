//! `GET /v1/questions`

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Problem, QuestionList};
use folkmoot_core::question::QuestionStatus;
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
/// Pending ones by priority, timeout and age; others newest first. Agents see what they and
/// workflows in their runs asked, and with `run` everything that was asked in their run.
/// `interleaved=true` shows the most urgent one of each asker first, so that nobody's questions
/// hide another's.
#[utoipa::path(get, path = "/v1/questions", operation_id = "list_questions", tag = "questions", params(wire::QuestionListParams),
    responses((status = 200, body = QuestionList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(query): Query<wire::QuestionListParams>,
) -> Result<Json<QuestionList>, ApiError> {
    let limit = limit(query.limit, LIMIT, LIMIT_MAX)?;
    let (items, next) = if query.interleaved {
        only_pending(&query)?;
        (app.engine.interleaved_questions(&who.principal, limit, query.brief).await?, None)
    } else {
        let query = QuestionQuery {
            status: query.status,
            agent: query.agent,
            asked_by: query.asked_by,
            run: query.run,
            session: query.session,
            concerns: None,
            halting: false,
            brief: query.brief,
            after: query.cursor.map(|cursor| cursor.parse()).transpose()?,
            limit,
        };
        let page = app.engine.questions(&who.principal, query).await?;
        (page.items, page.next)
    };
    let questions = items.into_iter().map(|view| wire::Question::new(view.question, view.text)).collect();
    Ok(Json(QuestionList { questions, next: next.map(|next| next.to_string()) }))
}

/// Askers are interleaved among all that waits, and nowhere else.
fn only_pending(query: &wire::QuestionListParams) -> Result<(), ApiError> {
    let of_one = query.agent.is_some() || query.asked_by.is_some();
    let narrowed = of_one || query.run.is_some() || query.session.is_some() || query.cursor.is_some();
    if narrowed || query.status.is_some_and(|status| status != QuestionStatus::Pending) {
        let detail = "interleaved lists pending questions of all askers; leave out status, agent, asked_by, run, session and cursor";
        return Err(ApiError::bad_request("bad_query", detail));
    }
    Ok(())
}
