//! A gate that nobody is asked about, because the configuration says so. It stands in the log like
//! any other.

use super::{DecisionWord, Gate, GateEvent, GateType, Next};
use crate::Timestamp;

/// Makes a gate that was just opened one that decides itself, and the decision that follows at
/// once.
pub(crate) fn auto_approve(gate: &mut Gate, reason: &str, now: Timestamp) -> GateEvent {
    gate.gate_type = GateType::Auto;
    let auto = "auto".parse().expect("a plain word is a name");
    let approved = (DecisionWord::Approved, Next::Proceed);
    gate.closes(gate.decision_without_votes(approved, auto, reason.to_owned(), now))
}
