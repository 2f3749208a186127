//! Questions: one file per verb.

pub(crate) mod acknowledge;
pub(crate) mod ask;
pub(crate) mod close;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod wait;

use folkmoot_core::QuestionId;

use crate::error::ApiError;

/// An invalid id is an unknown question.
fn parse_id(text: &str) -> Result<QuestionId, ApiError> {
    let unknown = |_| {
        let status = axum::http::StatusCode::NOT_FOUND;
        ApiError::new(status, "unknown_question", "there is no question with this id")
    };
    text.parse().map_err(unknown)
}
