//! Taking a run: by a worker, for as long as its node lives.

use super::{Run, RunEvent, RunState};
use crate::{Name, Refusal, RunId, Timestamp};

/// A worker that wants a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claiming {
    pub run: RunId,
    /// The worker's node.
    pub node: Name,
}

/// Judges a claim. `alive_until` is the moment until which the node that holds the run is known to
/// live.
pub(crate) fn claim(
    run: &Run,
    claiming: &Claiming,
    wakes: u64,
    alive_until: Option<Timestamp>,
    now: Timestamp,
) -> Result<RunEvent, Refusal> {
    let taken = Refusal::NotReady { run: run.start.id.clone() };
    match &run.state {
        RunState::Pending => {}
        RunState::Parked(parked) if wakes > parked.wakes => {}
        // Its node is dead, or does not know that it has it: whether the last claim was written was
        // never told.
        RunState::Running { node, .. } if *node == claiming.node || alive_until.is_none_or(|until| until <= now) => {}
        RunState::Outside | RunState::Running { .. } | RunState::Parked(_) | RunState::Stopped { .. } => {
            return Err(taken);
        }
        RunState::Ended(_) => run.must_go_on()?,
    }
    let (initiator, node) = (run.start.initiator.clone(), claiming.node.clone());
    Ok(RunEvent::Claimed { initiator, node, epoch: run.epoch + 1, at: now })
}
