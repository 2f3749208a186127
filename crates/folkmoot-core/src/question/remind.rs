//! Reminders of a question that still waits when its time has come.

use std::time::Duration;

use super::{Question, QuestionEvent};
use crate::{Timeout, Timestamp};

/// However soon a question was to remind, it does not remind again sooner than this: each time is
/// an event.
const REMINDERS_APART: Duration = Duration::from_secs(60);

/// Reminds of a question, and says when it is due again.
pub(super) fn remind(question: &Question, now: Timestamp) -> QuestionEvent {
    let (asked_by, agent_id) = (question.asked_by.clone(), question.agent_id.clone());
    let again = question.timeout.max(Timeout::After(REMINDERS_APART));
    QuestionEvent::Reminded { asked_by, agent_id, due: again.deadline(now) }
}
