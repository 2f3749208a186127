//! Questions: one file a verb.

pub(crate) mod ask;
pub(crate) mod close;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod wait;

use folkmoot_api::wire;
use folkmoot_core::QuestionId;
use folkmoot_engine::Engine;
use folkmoot_store::QuestionView;

use crate::{auth::Authenticated, error::ApiError};

/// A question as its asker, or anybody else, is shown it. An asker that is shown a denial has fetched it.
async fn shown(engine: &Engine, who: Authenticated, view: QuestionView) -> Result<wire::Question, ApiError> {
    engine.fetch(who, &view.question).await?;
    Ok(wire::Question::new(view.question, view.text))
}

/// What cannot be an id is an unknown question.
fn parse_id(text: &str) -> Result<QuestionId, ApiError> {
    let unknown = |_| {
        let status = axum::http::StatusCode::NOT_FOUND;
        ApiError::new(status, "unknown_question", "there is no question with this id")
    };
    text.parse().map_err(unknown)
}
