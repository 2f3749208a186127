//! Resuming a run that stopped, or that waits for a provider. It passes no gate: a run that waits
//! for a decision goes on when it is made.

use super::{Run, RunEvent, RunState};
use crate::{Principal, Refusal, Timestamp};

/// Judges a resumption; `None` where the run is being worked on anyway.
pub(crate) fn resume(run: &Run, by: &Principal, now: Timestamp) -> Result<Option<RunEvent>, Refusal> {
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
