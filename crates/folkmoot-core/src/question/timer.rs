//! A question's timer: when it is due, and what follows.

use super::{Loaded, Question, QuestionState, time_out};
use crate::{Commit, Deadline, Outcome, QuestionId, Subject, Timer, TimerChange, judge::Case};

/// Judges a timer that is due and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &QuestionId, loaded: Loaded) -> Commit {
    let clear = || TimerChange::Clear(Subject::Question(id.clone()));
    let Some(question) = loaded.question else { return Commit { timers: vec![clear()], ..Commit::default() } };
    match time_out(&question, case.now) {
        Some(event) => question.commit_event(case, &event, loaded.others),
        // The question was closed after the timer was read, so set the timer that the row demands.
        None => Commit {
            timers: vec![timer(&question).unwrap_or_else(clear)],
            outcome: Outcome::Question(Box::new(question)),
            ..Commit::default()
        },
    }
}

/// The timer that a question must have.
pub(super) fn timer(question: &Question) -> Option<TimerChange> {
    match (&question.state, question.due) {
        (QuestionState::Pending, Deadline::At(due)) => {
            Some(TimerChange::Set(Timer { subject: Subject::Question(question.id.clone()), due }))
        }
        (QuestionState::Pending, Deadline::Never) | (QuestionState::Closed(_), _) => None,
    }
}
