//! Parking a run: every branch of it waits, and nobody works on it until something has changed.

use super::{Loaded, Outage, Parked, Run, RunEvent};
use crate::{
    Commit, Deadline, Name, Outcome, Refusal, RunId, SessionId, Timer, TimerChange, Timestamp,
    journal::Fence,
    judge::{Case, RefusedWith},
};

/// A worker's request to park a run in which every branch waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkRequest {
    pub run: RunId,
    /// The claim under which it was worked on.
    pub epoch: u64,
    /// How often the run was woken, as far as the worker knew before it looked at everything that
    /// the run waits for.
    pub wakes: u64,
    /// When the first of its sleeps ends.
    pub due: Deadline,
    /// The agents that wait for clearance.
    pub held: Vec<Name>,
    /// The providers that it waits for.
    pub outages: Vec<Outage>,
    /// The session in which the agents wait for clearance.
    pub session_id: SessionId,
}

/// Judges whether a run is parked and returns what to write.
pub(super) fn judge(case: &Case<'_>, request: &ParkRequest, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let run = Run::found(loaded.run, &request.run)?;
    run.writer(case, Fence::Epoch(request.epoch), "park a run")?;
    // The worker of a child run may have seen the wake-up of its parent's end without knowing what
    // it was. If the child were parked now, it would wait for something that nobody is left to
    // bring about.
    let moves_on = loaded.any_agent_free || loaded.parent_over;
    let Some(event) = park(&run, request, loaded.wakes, moves_on, case.now)? else {
        return Ok(Commit { outcome: Outcome::Awake(loaded.wakes), ..Commit::default() });
    };
    let timers = match request.due {
        Deadline::At(due) => vec![TimerChange::Set(Timer { subject: run.subject(), due })],
        Deadline::Never => Vec::new(),
    };
    Ok(Commit { timers, ..run.commit_event(case, &event) })
}

/// `None` if something has changed since the worker looked. `moves_on` says whether one of the
/// agents that wait for clearance now has it, or the run must end with its parent.
fn park(
    run: &Run,
    request: &ParkRequest,
    wakes: u64,
    moves_on: bool,
    now: Timestamp,
) -> Result<Option<RunEvent>, Refusal> {
    run.must_be_held(request.epoch)?;
    if wakes != request.wakes || moves_on || request.due.has_passed(now) {
        return Ok(None);
    }
    let parked = Parked { wakes, due: request.due, held: request.held.clone(), outages: request.outages.clone() };
    Ok(Some(RunEvent::Parked { initiator: run.start.initiator.clone(), parked, at: now }))
}
