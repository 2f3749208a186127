//! Parking: every branch of the run waits, and nobody works on it until something has changed.

use super::{Outage, Parked, Run, RunEvent};
use crate::{Deadline, Name, Refusal, RunId, SessionId, Timestamp};

/// A worker that has nothing to do for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parking {
    pub run: RunId,
    /// The claim under which it was worked on.
    pub epoch: u64,
    /// The wake-ups that the worker knew of before it looked at everything that the run waits for.
    pub wakes: u64,
    /// When the first sleep is over.
    pub due: Deadline,
    /// The agents that wait for clearance.
    pub held: Vec<Name>,
    /// The providers that it waits for.
    pub outages: Vec<Outage>,
    /// The session in which they do.
    pub session_id: SessionId,
}

/// Judges a parking; `None` where something has changed since the worker looked. `moves_on` says
/// whether one of the agents that wait for clearance has it, or the run is to end with its parent.
pub(crate) fn park(
    run: &Run,
    parking: &Parking,
    wakes: u64,
    moves_on: bool,
    now: Timestamp,
) -> Result<Option<RunEvent>, Refusal> {
    run.must_be_held(parking.epoch)?;
    if wakes != parking.wakes || moves_on || parking.due.has_passed(now) {
        return Ok(None);
    }
    let parked = Parked { wakes, due: parking.due, held: parking.held.clone(), outages: parking.outages.clone() };
    Ok(Some(RunEvent::Parked { initiator: run.start.initiator.clone(), parked, at: now }))
}
