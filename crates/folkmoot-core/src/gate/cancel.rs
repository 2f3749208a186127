//! Withdrawing a gate. Its run does not pass.

use super::{Decision, DecisionWord, Gate, GateEvent, Next};
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
    gate.closes(Decision {
        request_id: gate.id.clone(),
        decision: DecisionWord::Cancelled,
        reviewer: by,
        reason: reason.to_owned(),
        feedback: None,
        edited: None,
        decided_at: now,
        digest: gate.digest,
        revision: gate.revision,
        outcome: Next::Stop,
        presence: None,
        votes: Vec::new(),
    })
}
