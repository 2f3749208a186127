//! Replaying a run: its workflow once more, from what is recorded alone. Nothing is executed, and
//! nothing is written.

use std::{panic::AssertUnwindSafe, sync::Arc};

use folkmoot_core::{Principal, RunId};
use folkmoot_store::Error;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::drive::{GuardedFuture, Stretch, journal, stretch};
use crate::{
    Ctx, Engine, Failure, Workflows,
    ctx::{NOT_RECORDED, Pass, PassEnd},
};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It ended, with this output as JSON, or with this failure.
    Ended(Result<String, Failure>),
    /// It came to something that was not recorded so.
    Differs {
        /// Which sort of difference.
        code: String,
        /// Where, and what.
        why: String,
        /// The key of the call that differs, where it is one.
        at: Option<String>,
    },
    /// It came to the end of what is recorded, at this call where it is one: it is not over, or was
    /// ended there.
    Recorded {
        /// The key of the call that was not recorded.
        until: Option<String>,
    },
    /// It came to where it waits.
    Waits,
}

/// The result of a replay, and the recorded calls that it did not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    /// What it came to.
    pub replayed: ReplayOutcome,
    /// How many calls were answered from the journal.
    pub calls: usize,
    /// Keys of what is recorded and was not asked for.
    pub unused: Vec<String>,
}

impl Engine {
    /// Replays a run with these workflows, whatever its state.
    pub async fn replay(
        &self,
        principal: &Principal,
        run: &RunId,
        workflows: &Workflows,
    ) -> Result<ReplayReport, Error> {
        let run = self.run(principal, run).await?;
        let unknown = || Error::Unreadable(format!("run {} has no workflow that can be replayed", run.start.id));
        let workflow = run.start.workflow.clone().ok_or_else(unknown)?;
        let lines = journal(self, &run.start.id).await?;
        let input = self.recorded(run.start.input).await?;
        let calls = lines.len();
        let pass = Arc::new(Pass::replaying(self.clone(), run.clone(), lines, CancellationToken::new()));
        let execution = workflows.execute(&workflow, Ctx::new(pass.clone()), input).ok_or_else(unknown)?;
        let mut execution: GuardedFuture = Box::pin(AssertUnwindSafe(execution).catch_unwind());
        let replayed = match stretch(&mut execution, &pass).await {
            Stretch::Ended(ended) => ReplayOutcome::Ended(ended),
            // Also where parts of a run that was stopped are missing; what it came to after them is
            // unused then.
            Stretch::PassEnded(PassEnd::Stop { code, at, .. }) if code == NOT_RECORDED => {
                ReplayOutcome::Recorded { until: at.map(|key| key.to_string()) }
            }
            Stretch::PassEnded(PassEnd::Stop { code, message, at }) => {
                ReplayOutcome::Differs { code, why: message, at: at.map(|key| key.to_string()) }
            }
            Stretch::PassEnded(PassEnd::Fail(conclusion)) => {
                ReplayOutcome::Differs { code: "failed".to_owned(), why: format!("{conclusion:?}"), at: None }
            }
            Stretch::Panicked(message) => {
                ReplayOutcome::Differs { code: "panicked".to_owned(), why: message, at: None }
            }
            Stretch::Idle => ReplayOutcome::Waits,
        };
        let unused = pass.unused();
        Ok(ReplayReport { replayed, calls: calls - unused.len(), unused })
    }
}
