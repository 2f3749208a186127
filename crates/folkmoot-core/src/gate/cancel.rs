//! Cancelling a gate. This stops its run, unless the gate was opened and is cancelled by somebody
//! other than the run's initiator.

use super::{DecisionWord, Gate, GateEvent, Next};
use crate::{
    Commit, GateId, Name, Principal, Refusal, Timestamp,
    judge::{Case, RefusedWith},
    text,
};

/// Judges a cancellation and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &GateId, reason: &str, gate: Option<Gate>) -> Result<Commit, RefusedWith> {
    let by = case.principal("cancel a gate")?;
    let gate = Gate::visible(gate, id, case)?;
    let event = cancel(&gate, reason, by, case.now)?;
    Ok(gate.commit_event(case, &event))
}

fn cancel(gate: &Gate, reason: &str, by: &Principal, now: Timestamp) -> Result<GateEvent, Refusal> {
    gate.must_be_open(now)?;
    gate.must_be_theirs(by, "cancel")?;
    text::check("reason", reason, text::REASON_BYTES_MAX)?;
    Ok(withdraw(gate, reason, by.name.clone(), now))
}

/// The event that cancels a pending gate.
pub(crate) fn withdraw(gate: &Gate, reason: &str, by: Name, now: Timestamp) -> GateEvent {
    let cancelled = (DecisionWord::Cancelled, Next::Stop);
    gate.closes(gate.decision_without_votes(cancelled, by, reason.to_owned(), now))
}
