//! Ending a run: it has its outcome, and never changes again.

use serde::{Deserialize, Serialize};

use super::{Run, RunEvent, RunStatus};
use crate::{Digest, Name, Refusal, Timestamp, text};

/// The longest output, in bytes of its JSON.
pub const OUTPUT_BYTES_MAX: usize = 4 << 20;

/// How a run came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// It reached its end, with this JSON.
    Completed {
        /// What it gives.
        output: String,
    },
    /// It ended with an error.
    Failed {
        /// Which sort of error.
        code: String,
        message: String,
    },
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// In one word.
    pub outcome: RunOutcome,
    /// What it gave; the JSON itself is an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Digest>,
    /// Which sort of error, where it is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// What happened, or why it was cancelled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Who ended it: its workflow, its agent, or whoever cancelled it.
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
    /// The status that the run has with it.
    pub fn status(&self) -> RunStatus {
        match self.outcome {
            RunOutcome::Completed => RunStatus::Completed,
            RunOutcome::Failed => RunStatus::Failed,
            RunOutcome::Cancelled => RunStatus::Cancelled,
        }
    }
}

/// Whether a run that is over ended just so: whoever says it again is not told that it cannot.
pub(crate) fn ended_so(run: &Run, conclusion: &Conclusion, by: &Name) -> bool {
    let Some(ending) = run.ending().filter(|ending| ending.by == *by) else { return false };
    match conclusion {
        Conclusion::Completed { output } => ending.output == Some(Digest::of(output.as_bytes())),
        Conclusion::Failed { code, message } => {
            ending.outcome == RunOutcome::Failed && ending.code == *code && ending.reason == *message
        }
    }
}

/// Refuses an agent that says its work is done while it has not said what became of some of it.
pub(crate) fn must_have_ended_its_steps(run: &Run, conclusion: &Conclusion) -> Result<(), Refusal> {
    match conclusion {
        Conclusion::Completed { .. } if run.begun > 0 => {
            Err(Refusal::StepsOpen { run: run.start.id.clone(), count: run.begun })
        }
        Conclusion::Completed { .. } | Conclusion::Failed { .. } => Ok(()),
    }
}

/// Judges an end, which `by` says. Whether it may say so was judged before.
pub(crate) fn end(run: &Run, conclusion: &Conclusion, by: Name, now: Timestamp) -> Result<RunEvent, Refusal> {
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
