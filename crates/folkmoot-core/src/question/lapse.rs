//! What happens when a question's time has come: its default, a reminder, or nothing more.

use std::time::Duration;

use super::{AtTimeout, Closure, Question, QuestionEvent, QuestionState, QuestionStatus, close::by_the_clock};
use crate::{Timeout, Timestamp};

/// However soon a question was to remind, it does not remind again sooner than this: each time is
/// an event.
const REMINDERS_APART: Duration = Duration::from_secs(60);

/// Judges a timer that came round; `None` where there is nothing (or nothing more) to do.
pub(crate) fn lapse(question: &Question, now: Timestamp) -> Option<QuestionEvent> {
    match &question.state {
        QuestionState::Closed(_) => return None,
        QuestionState::Pending if !question.due.has_passed(now) => return None,
        QuestionState::Pending => {}
    }
    let reason = match question.at_timeout() {
        AtTimeout::Remind => {
            let (asked_by, agent_id) = (question.asked_by.clone(), question.agent_id.clone());
            let again = question.timeout.max(Timeout::After(REMINDERS_APART));
            return Some(QuestionEvent::Reminded { asked_by, agent_id, due: again.deadline(now) });
        }
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
