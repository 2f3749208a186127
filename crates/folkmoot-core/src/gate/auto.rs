//! A gate that nobody is asked about, because the configuration says so. It stands in the log like any other.

use super::{Decision, DecisionWord, Gate, GateEvent, GateType, Next};
use crate::Timestamp;

/// Makes a gate that was just opened one that decides itself, and the decision that follows at once.
pub(crate) fn auto_approve(gate: &mut Gate, reason: &str, now: Timestamp) -> GateEvent {
    gate.gate_type = GateType::Auto;
    gate.closes(Decision {
        request_id: gate.id.clone(),
        decision: DecisionWord::Approved,
        reviewer: "auto".parse().expect("a plain word is a name"),
        reason: reason.to_owned(),
        feedback: None,
        edited: None,
        decided_at: now,
        digest: gate.digest,
        revision: gate.revision,
        outcome: Next::Proceed,
        presence: None,
        votes: Vec::new(),
    })
}
