//! Ending a run: it gets its outcome, and never changes again (except for corrected records).

use serde::{Deserialize, Serialize};

use super::{
    Loaded, Run, RunEvent, RunStatus,
    commit::artifact,
    gates::{must_have_no_pending_gate, must_not_be_stopped},
    open_work::{Ender, commit_end},
};
use crate::{
    Commit, Digest, Name, Outcome, Refusal, RunId, Timestamp,
    journal::{self, Fence},
    judge::{Case, RefusedWith},
    text,
};

/// The longest output, in bytes of its JSON.
pub const OUTPUT_BYTES_MAX: usize = 4 << 20;

/// How a run ended, as its workflow or agent reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// It reached its end.
    Completed {
        /// Its result, as JSON.
        output: String,
    },
    /// It ended with an error.
    Failed {
        /// The kind of error, as a code.
        code: String,
        message: String,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    pub outcome: RunOutcome,
    /// The digest of its result. The JSON itself is an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// The kind of error, as a code; empty if it did not fail.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// What happened, or why it was cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who ended it: its workflow, its agent, or the one who cancelled it.
    pub by: Name,
    pub at: Timestamp,
}

vocabulary! {
    /// The three ways in which a run ends.
    pub enum RunOutcome {
        /// It reached its end.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
    }
}

impl Ending {
    /// The run's status after this ending.
    pub fn status(&self) -> RunStatus {
        match self.outcome {
            RunOutcome::Completed => RunStatus::Completed,
            RunOutcome::Failed => RunStatus::Failed,
            RunOutcome::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// Judges an end and returns what to write.
pub(super) fn judge(
    case: &Case<'_>,
    id: &RunId,
    fence: Fence,
    conclusion: &Conclusion,
    mut loaded: Loaded,
) -> Result<Commit, RefusedWith> {
    let run = Run::found(loaded.run.take(), id)?;
    let by = run.writer(case, fence, "end a run")?;
    if fence == Fence::Owner && has_ended_with(&run, conclusion, &by.name) {
        return Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() });
    }
    journal::must_be_writer(&run, fence, &by)?;
    if fence == Fence::Owner {
        must_have_ended_its_steps(&run, conclusion)?;
        if matches!(conclusion, Conclusion::Completed { .. }) {
            must_have_no_pending_gate(&run, &loaded.gates)?;
            // After a gate requested an adjustment the agent may go on working, but the run is not
            // complete before people have approved the result.
            must_not_be_stopped(&run, &loaded.gates, |gate| gate.stopped_at().is_some())?;
        }
    }
    let event = end(&run, conclusion, case.command.by.name(), case.now)?;
    let mut commit = commit_end(case, run, &event, &Ender::of(&case.command.by, Some(fence)), loaded);
    if let Conclusion::Completed { output } = conclusion {
        commit.rows.push(artifact(output));
    }
    Ok(commit)
}

/// Whether the run has already ended in the same way, by the same principal. Repeating the end is
/// then not refused.
fn has_ended_with(run: &Run, conclusion: &Conclusion, by: &Name) -> bool {
    let Some(ending) = run.ending().filter(|ending| ending.by == *by) else { return false };
    match conclusion {
        Conclusion::Completed { output } => ending.output == Some(Digest::of(output.as_bytes())),
        Conclusion::Failed { code, message } => {
            ending.outcome == RunOutcome::Failed && ending.code == *code && ending.reason == *message
        }
    }
}

/// Refuses to complete a run that has steps that were begun and not ended.
fn must_have_ended_its_steps(run: &Run, conclusion: &Conclusion) -> Result<(), Refusal> {
    match conclusion {
        Conclusion::Completed { .. } if run.begun > 0 => {
            Err(Refusal::StepsOpen { run: run.start.id.clone(), count: run.begun })
        }
        Conclusion::Completed { .. } | Conclusion::Failed { .. } => Ok(()),
    }
}

/// The event that ends the run. The caller has checked that `by` may do so.
pub(super) fn end(run: &Run, conclusion: &Conclusion, by: Name, now: Timestamp) -> Result<RunEvent, Refusal> {
    run.must_go_on()?;
    let none = Ending {
        outcome: RunOutcome::Completed,
        output: None,
        code: String::new(),
        reason: String::new(),
        by,
        at: now,
    };
    let ending = match conclusion {
        Conclusion::Completed { output } => {
            text::check("output", output, OUTPUT_BYTES_MAX)?;
            Ending { output: Some(Digest::of(output.as_bytes())), ..none }
        }
        Conclusion::Failed { code, message } => {
            let reason = text::shortened(message, text::REASON_BYTES_MAX);
            Ending { outcome: RunOutcome::Failed, code: text::shortened(code, text::TITLE_BYTES_MAX), reason, ..none }
        }
    };
    Ok(RunEvent::Ended { initiator: run.start.initiator.clone(), ending })
}
