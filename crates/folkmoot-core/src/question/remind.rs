//! Reminders of a question that is still open at its timeout.

use std::time::Duration;

use super::{Question, QuestionEvent};
use crate::{Timeout, Timestamp};

/// The minimum time between reminders, however short the question's timeout is, because each
/// reminder is an event in the log.
const REMINDERS_APART: Duration = Duration::from_secs(60);

/// The event of a reminder, which says when the next one is due.
pub(super) fn remind(question: &Question, now: Timestamp) -> QuestionEvent {
    let (asked_by, agent_id) = (question.asked_by.clone(), question.agent_id.clone());
    let again = question.timeout.max(Timeout::After(REMINDERS_APART));
    QuestionEvent::Reminded { asked_by, agent_id, due: again.deadline(now) }
}
