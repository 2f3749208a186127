//! What happens at a question's timeout: its default counts, it reminds, or it expires.

use super::{
    AtTimeout, Closure, Question, QuestionEvent, QuestionState, QuestionStatus, close::by_the_clock, remind::remind,
};
use crate::Timestamp;

/// The event that follows when the timer fires; `None` if there is nothing (or nothing more) to do.
pub(crate) fn time_out(question: &Question, now: Timestamp) -> Option<QuestionEvent> {
    match &question.state {
        QuestionState::Closed(_) => return None,
        QuestionState::Pending if !question.due.has_passed(now) => return None,
        QuestionState::Pending => {}
    }
    let reason = match question.at_timeout() {
        AtTimeout::Remind => return Some(remind(question, now)),
        AtTimeout::Default => "nobody answered in time, so its default counts",
        AtTimeout::Expire => "nobody answered in time, and it has no default",
    };
    Some(question.closes(Closure {
        status: QuestionStatus::Expired,
        answer: question.default.clone(),
        by: by_the_clock(),
        at: now,
        reason: reason.to_owned(),
        fetched_at: None,
        released_by: None,
        presence: None,
    }))
}
