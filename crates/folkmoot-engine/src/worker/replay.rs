//! Replays a run from its record. Nothing is executed or written.

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayOutcome {
    /// It ended with this output as JSON, or with this failure.
    Ended(Result<String, Failure>),
    /// It differs from the record.
    Differs {
        /// The kind of difference.
        code: String,
        /// Where and how.
        why: String,
        /// The key of the differing call, if it is one.
        at: Option<String>,
    },
    /// It reached the end of the record: the run is not over, or was ended from outside.
    Recorded {
        /// The key of the first unrecorded call.
        until: Option<String>,
    },
    /// It reached the point where it waits.
    Waits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayReport {
    pub replayed: ReplayOutcome,
    pub calls: usize,
    /// Recorded keys that the replay did not use.
    pub unused: Vec<String>,
}

impl Engine {
    /// Replays a run in any state with these workflows.
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
            // Parts of a stopped run may be missing; what came after them is then unused.
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
