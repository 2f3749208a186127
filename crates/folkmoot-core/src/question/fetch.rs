//! Fetching a denial: its asker has heard it, and is not held by it any more.

use super::{Question, QuestionEvent, Status};
use crate::{Principal, Timestamp};

/// Judges a fetch; `None` where there is nothing to fetch, or somebody else looks.
pub(crate) fn fetch(question: &Question, by: &Principal, now: Timestamp) -> Option<QuestionEvent> {
    let closure = question.closure()?;
    let unheard = closure.status == Status::Denied && closure.fetched_at.is_none();
    (unheard && question.is_asked_by(by)).then(|| QuestionEvent::Fetched {
        asked_by: question.asked_by.clone(),
        agent_id: question.agent_id.clone(),
        fetched_at: now,
    })
}
