//! A run's timer: it fires at the end of the first of the run's sleeps.

use super::{Run, RunState};
use crate::{
    Commit, Deadline, RunId, Subject, TimerChange, Wake,
    judge::{Case, RefusedWith},
};

/// Judges a timer that is due and returns what to write: the run is woken, unless it is over.
pub(super) fn judge(case: &Case<'_>, id: &RunId, run: Option<Run>) -> Result<Commit, RefusedWith> {
    case.must_be_system("wake a run")?;
    let wakes = run.iter().filter(|run| run.ending().is_none()).map(|_| Wake::Run(id.clone())).collect();
    Ok(Commit { timers: vec![TimerChange::Clear(Subject::Run(id.clone()))], wakes, ..Commit::default() })
}

/// Clears the timer of a parked run, if it has one.
pub(super) fn clear_parked(run: &Run) -> Vec<TimerChange> {
    match &run.state {
        RunState::Parked(parked) if parked.due != Deadline::Never => vec![TimerChange::Clear(run.subject())],
        _ => Vec::new(),
    }
}
