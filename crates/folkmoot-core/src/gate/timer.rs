//! A gate's timer: when it is due, and what follows.

use super::{Gate, expire};
use crate::{Commit, Deadline, GateId, Outcome, Subject, Timer, TimerChange, judge::Case};

/// Judges a timer that is due and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &GateId, gate: Option<Gate>) -> Commit {
    let clear = || TimerChange::Clear(Subject::Gate(id.clone()));
    let Some(gate) = gate else { return Commit { timers: vec![clear()], ..Commit::default() } };
    match expire(&gate, case.now) {
        Some(event) => gate.commit_event(case, &event),
        // The gate was decided or extended after the timer was read, so set the timer that the row
        // demands.
        None => {
            let timer = timer(&gate).filter(|_| gate.decision().is_none());
            let timers = vec![timer.unwrap_or_else(clear)];
            Commit { timers, outcome: Outcome::Gate(Box::new(gate)), ..Commit::default() }
        }
    }
}

/// The timer that a pending gate must have.
pub(super) fn timer(gate: &Gate) -> Option<TimerChange> {
    match gate.due() {
        Deadline::At(due) => Some(TimerChange::Set(Timer { subject: Subject::Gate(gate.id.clone()), due })),
        Deadline::Never => None,
    }
}
