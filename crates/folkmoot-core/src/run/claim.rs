//! Claiming a run: a worker takes it, for as long as its node is alive.

use super::{Loaded, Run, RunEvent, RunState, timer::clear_parked};
use crate::{
    Commit, Name, Outcome, Refusal, RunId, Timestamp,
    judge::{Case, RefusedWith},
};

/// Judges a claim and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &RunId, node: &Name, loaded: Loaded) -> Result<Commit, RefusedWith> {
    case.must_be_system("claim a run")?;
    let run = Run::found(loaded.run, id)?;
    if loaded.parent_over && run.ending().is_none() {
        // A run ends with its parent, in whichever state it is. So it is not claimed here, and the
        // worker cancels it instead.
        return Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() });
    }
    let event = claim(&run, node, loaded.wakes, loaded.alive_until, case.now)?;
    let mut commit = Commit { timers: clear_parked(&run), ..run.commit_event(case, &event) };
    if let Outcome::Run(run) = std::mem::take(&mut commit.outcome) {
        commit.outcome = Outcome::Claimed(run, loaded.wakes);
    }
    Ok(commit)
}

/// `alive_until` is the moment until which the node that has claimed the run is known to be alive.
fn claim(
    run: &Run,
    claimant: &Name,
    wakes: u64,
    alive_until: Option<Timestamp>,
    now: Timestamp,
) -> Result<RunEvent, Refusal> {
    let taken = Refusal::NotReady { run: run.start.id.clone() };
    match &run.state {
        RunState::Pending => {}
        RunState::Parked(parked) if wakes > parked.wakes => {}
        // Its node is dead; or its node claims it again, because it never learned whether its last
        // claim was written.
        RunState::Running { node, .. } if node == claimant || alive_until.is_none_or(|until| until <= now) => {}
        RunState::Outside | RunState::Running { .. } | RunState::Parked(_) | RunState::Stopped { .. } => {
            return Err(taken);
        }
        RunState::Ended(_) => run.must_go_on()?,
    }
    let (initiator, node) = (run.start.initiator.clone(), claimant.clone());
    Ok(RunEvent::Claimed { initiator, node, epoch: run.epoch + 1, at: now })
}
