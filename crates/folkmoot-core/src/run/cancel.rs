//! Cancelling a run, in any state.

use super::{
    Ending, Loaded, Run, RunEvent,
    end::RunOutcome,
    open_work::{Ender, commit_end},
};
use crate::{
    Actor, Commit, Name, Refusal, RunId, Timestamp,
    judge::{Case, RefusedWith},
    text,
};

/// Judges a cancellation and returns what to write.
pub(super) fn judge(case: &Case<'_>, id: &RunId, reason: &str, mut loaded: Loaded) -> Result<Commit, RefusedWith> {
    let run = Run::found(loaded.run.take(), id)?;
    match &case.command.by {
        Actor::Principal(by) => run.must_be_theirs(by, "cancel a run")?,
        Actor::System => {}
    }
    let event = cancel(&run, reason, case.command.by.name(), case.now)?;
    Ok(commit_end(case, run, &event, &Ender::of(&case.command.by, None), loaded))
}

/// The event that cancels the run. The caller has checked that `by` may do so.
fn cancel(run: &Run, reason: &str, by: Name, now: Timestamp) -> Result<RunEvent, Refusal> {
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
