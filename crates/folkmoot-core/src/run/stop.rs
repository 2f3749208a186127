//! Stopping: the run cannot go on until somebody has looked at it.

use super::{Run, RunEvent};
use crate::{Refusal, RunId, Timestamp, text};

/// A worker that cannot go on with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopping {
    pub run: RunId,
    /// The claim under which it was worked on.
    pub epoch: u64,
    /// Which sort of problem.
    pub code: String,
    /// What happened, and what to do.
    pub message: String,
}

/// Judges a stop.
pub(crate) fn stop(run: &Run, stopping: &Stopping, now: Timestamp) -> Result<RunEvent, Refusal> {
    run.must_be_held(stopping.epoch)?;
    let message = text::shortened(&stopping.message, text::REASON_BYTES_MAX);
    let code = text::shortened(&stopping.code, text::TITLE_BYTES_MAX);
    Ok(RunEvent::Stopped { initiator: run.start.initiator.clone(), code, message, at: now })
}
