//! How gates stop a run that an outside agent executes.

use super::Run;
use crate::{Gate, Refusal};

/// Refuses to go on with such a run while one of its gates is pending.
pub(super) fn must_have_no_pending_gate(run: &Run, gates: &[Gate]) -> Result<(), Refusal> {
    let pending = gates.iter().filter(|gate| gate.decision().is_none());
    match pending.min_by_key(|gate| (gate.requested_at, gate.id.clone())) {
        Some(gate) => Err(Refusal::GatePending { run: run.start.id.clone(), gate: gate.id.clone() }),
        None => Ok(()),
    }
}

/// Refuses to begin a step of a run that was stopped by the decision on one of these gates.
pub fn must_not_be_stopped_at(run: &Run, gates: &[Gate]) -> Result<(), Refusal> {
    must_not_be_stopped(run, gates, Gate::stops_its_run)
}

/// Refuses to go on with such a run after the decision on one of its gates has stopped it. `stops`
/// says which decisions do. The agent may open another gate: if that was opened after the decision
/// and people approve it, the run may go on.
pub(super) fn must_not_be_stopped(run: &Run, gates: &[Gate], stops: impl Fn(&Gate) -> bool) -> Result<(), Refusal> {
    let decided = |gate: &&Gate| gate.stopped_at();
    let Some(stopping) = gates.iter().filter(|gate| stops(gate)).max_by_key(decided) else { return Ok(()) };
    let approved = gates.iter().filter(|gate| gate.is_approved_by_people()).map(|gate| gate.requested_at).max();
    match (approved, stopping.decision()) {
        (Some(asked), Some(decision)) if asked >= decision.decided_at => Ok(()),
        (_, decision) => Err(Refusal::GateStopped {
            run: run.start.id.clone(),
            gate: stopping.id.clone(),
            decision: decision.expect("a gate that stops its run is decided").decision,
        }),
    }
}
