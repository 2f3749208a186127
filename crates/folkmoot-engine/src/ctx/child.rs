//! Child runs.

use folkmoot_core::{
    RunId, WorkflowName,
    journal::{EntryKind, EntryState, Waits, Write},
    run::{self, NewRun, RunOutcome},
};
use folkmoot_store::Store;
use serde::{Serialize, de::DeserializeOwned};

use super::{Ctx, PassEnd, canonical, digest_of};
use crate::Failure;

impl Ctx {
    /// Starts another run and waits for its end. If it fails, this call fails in the same way. It
    /// works in this run's session, in the name of this run's initiator, and ends when this run
    /// does.
    pub async fn child<T: DeserializeOwned>(
        &self,
        key: impl AsRef<str>,
        workflow: &str,
        input: &impl Serialize,
    ) -> Result<T, Failure> {
        let (given, input) = (canonical(input), serde_json::to_string(input)?);
        let (call, known) = self.call(EntryKind::Run, key.as_ref(), digest_of(&(workflow, given))).await;
        let engine = &self.pass.engine;
        let entry = match known {
            Some(line) => line.entry,
            None => {
                let workflow: WorkflowName = workflow.parse()?;
                if let Err(problem) = engine.worker().must_know(&workflow) {
                    // Perhaps no node could ever execute it, and this run would wait forever.
                    return self.pass.end(PassEnd::stop("unknown_workflow", problem)).await;
                }
                let new_run = NewRun {
                    id: engine.new_run_id(),
                    workflow: Some(workflow),
                    title: call.key.to_string(),
                    session_id: None,
                    input: Some(input),
                    limits: self.pass.run.start.limits,
                };
                self.pass.record(&call, None, engine.now(), Write::Start(Box::new(new_run))).await?
            }
        };
        match &entry.state {
            EntryState::Waiting(Waits::Run(id)) => self.outcome_of(id).await,
            EntryState::Failed { error } => Err(Failure::of(error.clone())),
            _ => Err(Failure::new("invalid_journal", format!("{} is recorded as no run", entry.key))),
        }
    }

    async fn outcome_of<T: DeserializeOwned>(&self, id: &RunId) -> Result<T, Failure> {
        let child = self
            .until(&run::stream(id), |engine| {
                let id = id.clone();
                async move { Ok(engine.0.store.run(&id).await?.filter(|run| run.ending().is_some())) }
            })
            .await;
        let ending = child.ending().expect("it was waited for until it had one");
        let output = match (ending.outcome, ending.output) {
            (RunOutcome::Completed, Some(output)) => self.text_of(output).await,
            (RunOutcome::Completed, None) => Some("null".to_owned()),
            (RunOutcome::Failed, _) => return Err(Failure::new(&ending.code, &ending.reason)),
            (RunOutcome::Cancelled, _) => {
                let message = format!("run {id} was cancelled by {}: {}", ending.by, ending.reason);
                return Err(Failure::new("cancelled", message));
            }
        };
        let erased = || Failure::new("erased", format!("the output of run {id} was erased"));
        serde_json::from_str(&output.ok_or_else(erased)?)
            .map_err(|error| Failure::new("invalid_result", error.to_string()))
    }
}
