//! The end of a denial's hold: its asker has heard it, or somebody who decides has released it.

use super::{Question, QuestionEvent, QuestionStatus};
use crate::{Name, Principal, Refusal, Timestamp, text};

/// Judges a fetch; `None` where there is nothing to fetch, or somebody looks who neither asked nor
/// decides. A verb of its own, so that whoever cancels a question at the moment at which another
/// denies it releases nobody.
pub(crate) fn fetch(
    question: &Question,
    reason: &str,
    by: &Principal,
    now: Timestamp,
) -> Result<Option<QuestionEvent>, Refusal> {
    text::check("reason", reason, text::REASON_BYTES_MAX)?;
    if question.is_unheard_denial() && question.is_asked_by(by) {
        return Ok(Some(heard(question, None, String::new(), now)));
    }
    Ok(release(question, reason, by.name.clone(), now).filter(|_| by.role.decides()))
}

/// The release of a denial that its asker has not heard; `None` where it is none.
pub(crate) fn release(question: &Question, reason: &str, by: Name, now: Timestamp) -> Option<QuestionEvent> {
    question.is_unheard_denial().then(|| heard(question, Some(by), reason.to_owned(), now))
}

fn heard(question: &Question, released_by: Option<Name>, reason: String, now: Timestamp) -> QuestionEvent {
    let (asked_by, agent_id) = (question.asked_by.clone(), question.agent_id.clone());
    QuestionEvent::Fetched { asked_by, agent_id, fetched_at: now, released_by, reason }
}

impl Question {
    /// Whether it was denied, and goes on holding its asker because nobody has heard that yet.
    pub fn is_unheard_denial(&self) -> bool {
        self.closure().is_some_and(|closure| closure.status == QuestionStatus::Denied && closure.fetched_at.is_none())
    }
}
