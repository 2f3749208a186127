//! Withdrawing a gate. Its run does not pass.

use super::{DecisionWord, Gate, GateEvent, Next};
use crate::{Name, Principal, Refusal, Timestamp, text};

/// Judges a withdrawal.
pub(crate) fn cancel(gate: &Gate, reason: &str, by: &Principal, now: Timestamp) -> Result<GateEvent, Refusal> {
    gate.must_be_open(now)?;
    gate.must_be_theirs(by, "cancel")?;
    text::check("reason", reason, text::REASON_BYTES_MAX)?;
    Ok(withdraw(gate, reason, by.name.clone(), now))
}

/// The withdrawal of a gate that waits.
pub(crate) fn withdraw(gate: &Gate, reason: &str, by: Name, now: Timestamp) -> GateEvent {
    let cancelled = (DecisionWord::Cancelled, Next::Stop);
    gate.closes(gate.decision_without_votes(cancelled, by, reason.to_owned(), now))
}
