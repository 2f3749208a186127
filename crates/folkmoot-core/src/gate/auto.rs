//! Approving a gate automatically, because the configuration asks nobody. The log records it like
//! any other gate.

use super::{DecisionWord, Gate, GateEvent, GateType, Next};
use crate::Timestamp;

/// Makes a gate that was just opened an automatic one, and returns the event that approves it.
pub(crate) fn auto_approve(gate: &mut Gate, reason: &str, now: Timestamp) -> GateEvent {
    gate.gate_type = GateType::Auto;
    let auto = "auto".parse().expect("a plain word is a name");
    let approved = (DecisionWord::Approved, Next::Proceed);
    gate.closes(gate.decision_without_votes(approved, auto, reason.to_owned(), now))
}
