//! Stopping a run: it cannot go on until somebody has looked at it.

use super::{Run, RunEvent};
use crate::{
    Commit, RunId,
    journal::Fence,
    judge::{Case, RefusedWith},
    text,
};

/// Judges a stop and returns what to write.
pub(super) fn judge(
    case: &Case<'_>,
    id: &RunId,
    epoch: u64,
    (code, message): (&str, &str),
    run: Option<Run>,
) -> Result<Commit, RefusedWith> {
    let run = Run::found(run, id)?;
    run.writer(case, Fence::Epoch(epoch), "stop a run")?;
    run.must_be_held(epoch)?;
    let message = text::shortened(message, text::REASON_BYTES_MAX);
    let code = text::shortened(code, text::TITLE_BYTES_MAX);
    let event = RunEvent::Stopped { initiator: run.start.initiator.clone(), code, message, at: case.now };
    Ok(run.commit_event(case, &event))
}
