//! Cancelling a run, in any state.

use super::{Ending, Run, RunEvent, end::RunOutcome};
use crate::{Name, Refusal, Timestamp, text};

/// Judges a cancellation. Whether `by` may was judged before.
pub(crate) fn cancel(run: &Run, reason: &str, by: Name, now: Timestamp) -> Result<RunEvent, Refusal> {
    run.must_go_on()?;
    text::check("reason", reason, text::REASON_BYTES_MAX)?;
    let ending = Ending {
        outcome: RunOutcome::Cancelled,
        output: None,
        code: String::new(),
        reason: reason.to_owned(),
        by,
        at: now,
    };
    Ok(RunEvent::Ended { initiator: run.start.initiator.clone(), ending })
}
