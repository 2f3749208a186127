//! What happens when a gate's timer fires, at its deadline or before.

use super::{DecisionWord, Gate, GateEvent, GateState, Next, OnTimeout, remind::remind};
use crate::{Name, Timestamp};

/// The event that follows when the timer fires; `None` if there is nothing (or nothing more) to do.
pub(crate) fn expire(gate: &Gate, now: Timestamp) -> Option<GateEvent> {
    match &gate.state {
        GateState::Closed(_) => None,
        GateState::Pending { .. } if !gate.deadline.has_passed(now) => remind(gate, now),
        GateState::Pending { .. } if gate.content.on_timeout == OnTimeout::Escalate && !gate.escalated => {
            let deadline = gate.timeout.deadline(now);
            let next = gate.reminders.before(deadline, now);
            Some(GateEvent::Escalated { requested_by: gate.requested_by.clone(), deadline, early: false, next })
        }
        GateState::Pending { .. } => {
            let timed_out = (DecisionWord::TimedOut, outcome(gate.content.on_timeout));
            let reason = format!("nobody decided before the deadline; on_timeout is {}", gate.content.on_timeout);
            Some(gate.closes(gate.decision_without_votes(timed_out, by_the_clock(), reason, now)))
        }
    }
}

fn by_the_clock() -> Name {
    "timeout".parse().expect("a plain word is a name")
}

fn outcome(on_timeout: OnTimeout) -> Next {
    match on_timeout {
        OnTimeout::Fail | OnTimeout::Reject | OnTimeout::Escalate => Next::Stop,
        OnTimeout::Approve => Next::Proceed,
        OnTimeout::Retry => Next::Retry,
    }
}
