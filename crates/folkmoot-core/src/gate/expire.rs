//! What happens when a gate's timer comes round: at its deadline, or before.

use super::{Decision, DecisionWord, Gate, GateEvent, Next, OnTimeout, State, remind::remind};
use crate::{Name, Timestamp};

/// Judges a timer that came round; `None` where there is nothing (or nothing more) to do.
pub(crate) fn expire(gate: &Gate, now: Timestamp) -> Option<GateEvent> {
    match &gate.state {
        State::Closed(_) => None,
        State::Pending { .. } if !gate.deadline.has_passed(now) => remind(gate, now),
        State::Pending { .. } if gate.content.on_timeout == OnTimeout::Escalate && !gate.escalated => {
            let deadline = gate.timeout.deadline(now);
            let next = gate.reminders.before(deadline, now);
            Some(GateEvent::Escalated { requested_by: gate.requested_by.clone(), deadline, early: false, next })
        }
        State::Pending { .. } => Some(gate.closes(Decision {
            request_id: gate.id.clone(),
            decision: DecisionWord::TimedOut,
            reviewer: by_the_clock(),
            reason: format!("nobody decided before the deadline; on_timeout is {}", gate.content.on_timeout),
            feedback: None,
            edited: None,
            decided_at: now,
            digest: gate.digest,
            revision: gate.revision,
            outcome: outcome(gate.content.on_timeout),
            presence: None,
            votes: Vec::new(),
        })),
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
