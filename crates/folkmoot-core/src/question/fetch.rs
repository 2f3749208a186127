//! The end of a denial's hold: its asker has heard it, or somebody who decides has released it.

use super::{Loaded, Question, QuestionEvent, QuestionStatus};
use crate::{
    Commit, Name, Outcome, Principal, QuestionId, Refusal, Timestamp,
    judge::{Case, RefusedWith},
    text,
};

/// Judges a fetch, and what it writes. A verb of its own, so that whoever cancels a question at the
/// moment at which another denies it releases nobody.
pub(super) fn judge(case: &Case<'_>, id: &QuestionId, reason: &str, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let by = case.principal("fetch an answer")?;
    let question = loaded.question.filter(|question| question.may_be_seen_by(by));
    let question = question.ok_or_else(|| Refusal::UnknownQuestion { question: id.clone() })?;
    match fetch(&question, reason, by, case.now)? {
        Some(event) => Ok(question.commit_event(case, &event, loaded.others)),
        None => Ok(Commit { outcome: Outcome::Question(Box::new(question)), ..Commit::default() }),
    }
}

/// What a fetch changes; `None` where there is nothing to fetch, or somebody looks who neither
/// asked nor decides.
fn fetch(question: &Question, reason: &str, by: &Principal, now: Timestamp) -> Result<Option<QuestionEvent>, Refusal> {
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
