//! Resuming a run that stopped, or that waits for a provider. This lets no run pass a gate: a run
//! that waits for a decision goes on when the decision is made.

use super::{Run, RunEvent, RunState, timer::clear_parked};
use crate::{
    Commit, Outcome, Principal, Refusal, RunId, Timestamp,
    judge::{Case, RefusedWith},
};

/// Judges a resumption and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &RunId, run: Option<Run>) -> Result<Commit, RefusedWith> {
    let by = case.principal("resume a run")?;
    let run = Run::found(run, id)?;
    match resume(&run, by, case.now)? {
        Some(event) => Ok(Commit { timers: clear_parked(&run), ..run.commit_event(case, &event) }),
        None => Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() }),
    }
}

/// `None` if the run is worked on anyway, or soon will be.
fn resume(run: &Run, by: &Principal, now: Timestamp) -> Result<Option<RunEvent>, Refusal> {
    run.must_be_theirs(by, "resume a run")?;
    let run_id = || run.start.id.clone();
    match &run.state {
        RunState::Stopped { .. } | RunState::Parked(_) if may_go_on(run) => {
            let initiator = run.start.initiator.clone();
            Ok(Some(RunEvent::Reopened { initiator, by: by.name.clone(), at: now }))
        }
        RunState::Pending | RunState::Running { .. } => Ok(None),
        RunState::Stopped { .. } | RunState::Parked(_) => Err(Refusal::RunWaits { run: run_id() }),
        RunState::Outside => Err(Refusal::NotOurs { run: run_id() }),
        RunState::Ended(_) => run.must_go_on().map(|()| None),
    }
}

fn may_go_on(run: &Run) -> bool {
    matches!(run.state, RunState::Stopped { .. }) || !run.outages().is_empty()
}
