//! Ending the hold of a denial: its asker fetches it, or a reviewer or admin releases the asker.

use super::{Loaded, Question, QuestionEvent, QuestionStatus};
use crate::{
    Commit, Name, Outcome, Principal, QuestionId, Refusal, Timestamp,
    judge::{Case, RefusedWith},
    text,
};

/// Judges a fetch and returns what to write. It is a verb of its own, so that somebody who cancels
/// a question at the moment at which another person denies it does not release the asker.
pub(super) fn judge(case: &Case<'_>, id: &QuestionId, reason: &str, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let by = case.principal("fetch an answer")?;
    let question = loaded.question.filter(|question| question.may_be_seen_by(by));
    let question = question.ok_or_else(|| Refusal::UnknownQuestion { question: id.clone() })?;
    match fetch(&question, reason, by, case.now)? {
        Some(event) => Ok(question.commit_event(case, &event, loaded.others)),
        None => Ok(Commit { outcome: Outcome::Question(Box::new(question)), ..Commit::default() }),
    }
}

/// The event of a fetch; `None` if there is no denial to fetch, or if the caller neither asked nor
/// may decide.
fn fetch(question: &Question, reason: &str, by: &Principal, now: Timestamp) -> Result<Option<QuestionEvent>, Refusal> {
    text::check("reason", reason, text::REASON_BYTES_MAX)?;
    if question.is_unfetched_denial() && question.is_asked_by(by) {
        return Ok(Some(heard(question, None, String::new(), now)));
    }
    Ok(release(question, reason, by.name.clone(), now).filter(|_| by.role.decides()))
}

/// The event that releases the asker of a denial that was not fetched; `None` if there is none.
pub(crate) fn release(question: &Question, reason: &str, by: Name, now: Timestamp) -> Option<QuestionEvent> {
    question.is_unfetched_denial().then(|| heard(question, Some(by), reason.to_owned(), now))
}

fn heard(question: &Question, released_by: Option<Name>, reason: String, now: Timestamp) -> QuestionEvent {
    let (asked_by, agent_id) = (question.asked_by.clone(), question.agent_id.clone());
    QuestionEvent::Fetched { asked_by, agent_id, fetched_at: now, released_by, reason }
}

impl Question {
    /// Whether it was denied, and the denial was neither fetched nor released yet.
    pub fn is_unfetched_denial(&self) -> bool {
        self.closure().is_some_and(|closure| closure.status == QuestionStatus::Denied && closure.fetched_at.is_none())
    }
}
