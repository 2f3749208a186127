//! `GET /v1/debates/{id}/results`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{DebateResults, Problem};

use crate::{app::App, auth::PageReader, debates, error::ApiError, extract::RunPath};

/// Shows what a debate came to
///
/// The verdict with each vote, the dissent and the tests; the answer, its code, and what it cost.
/// 409 until it is over, and where it failed or was cancelled.
#[utoipa::path(get, path = "/v1/debates/{id}/results", operation_id = "debate_results", tag = "debates", params(("id" = String, Path)),
    responses((status = 200, body = DebateResults), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn results(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
) -> Result<Json<DebateResults>, ApiError> {
    let debate = debates::held(&app, &who.principal, &id).await?;
    let none = |code: &str, detail: String| ApiError::new(StatusCode::CONFLICT, code, detail);
    if let Some(fault) = &debate.fault {
        let detail = format!("this debate has no result: {} ({})", fault.message, fault.code);
        return Err(none("debate_without_result", detail));
    }
    if debate.run.ending().is_none() {
        let detail = format!("this debate is {}; come back when it is over, or follow its events", debate.view.status);
        return Err(none("debate_not_finished", detail));
    }
    let gone = || none("debate_without_result", "what came of this debate has been erased".to_owned());
    let debated = debates::debated(&app.engine, &debate.run).await?.ok_or_else(gone)?;
    Ok(Json(DebateResults {
        id: debate.view.id,
        session_id: debate.view.session_id,
        status: debate.view.status,
        verdict: debated.verdict.into(),
        answer: debated.answer,
        undecided: debated.undecided.into_iter().map(debates::undecided).collect(),
        code: debated.code,
        language: debated.language,
        versions: debated.versions,
        providers: debated.providers,
        cost: debates::cost(debated.spent),
    }))
}
