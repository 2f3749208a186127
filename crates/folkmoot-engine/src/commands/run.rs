//! Starting, cancelling, resuming and ending runs, and recording the steps of outside agents.

use folkmoot_core::{
    Outcome, Refusal, Run, RunId,
    journal::{Entry, EntryKey, EntryState, Fence, JournalWrite, NewEntry, Write},
    run::{self, BadWorkflowName, Conclusion, NewRun, RunLimits},
};
use folkmoot_store::{Error, JournalQuery, Store};
use serde::Serialize;

use crate::{Caller, Engine};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEntry {
    pub entry: Entry,
    /// Whether this call wrote it. Of two callers that begin the same step, only one gets true.
    pub is_new: bool,
}

impl Engine {
    pub fn new_run_id(&self) -> RunId {
        RunId::new(self.now(), self.0.host.random() as u64)
    }

    /// Starts a run of a workflow with this input.
    pub async fn start_workflow(
        &self,
        caller: impl Into<Caller>,
        workflow: &str,
        input: &impl Serialize,
    ) -> Result<Run, Error> {
        let unusable = |field, error: String| Refusal::invalid(field, error);
        let workflow = workflow.parse().map_err(|error: BadWorkflowName| unusable("workflow", error.to_string()))?;
        let input = serde_json::to_string(input).map_err(|error| unusable("input", error.to_string()))?;
        let new_run = NewRun {
            id: self.new_run_id(),
            workflow: Some(workflow),
            title: String::new(),
            session_id: None,
            input: Some(input),
            limits: RunLimits::default(),
        };
        self.start_run(caller.into(), new_run).await
    }

    /// Starts a run. Its workflow must be one that this node knows.
    pub async fn start_run(&self, caller: Caller, new_run: NewRun) -> Result<Run, Error> {
        Ok(self.start_or_find_run(caller, new_run).await?.0)
    }

    /// Like [`Engine::start_run`], and returns whether the run is new. Starting the same run again
    /// under the same id returns the existing run.
    pub async fn start_or_find_run(&self, caller: Caller, new_run: NewRun) -> Result<(Run, bool), Error> {
        if let Some(workflow) = &new_run.workflow {
            self.worker().must_know(workflow).map_err(|problem| Refusal::invalid("workflow", problem))?;
        }
        match self.execute(caller, run::Action::Start(Box::new(new_run))).await? {
            Outcome::Run(run) => Ok((*run, true)),
            Outcome::ExistingRun(run) => Ok((*run, false)),
            other => Err(Error::Unreadable(format!("a run was expected, and this came: {other:?}"))),
        }
    }

    /// Cancels a run in any state, with everything that is in flight or open.
    pub async fn cancel_run(&self, caller: Caller, run: RunId, reason: String) -> Result<Run, Error> {
        self.execute_on_run(caller, run::Action::Cancel { run, reason }).await
    }

    /// Continues a run that is stopped or waits for a model provider. It lets no run pass a gate.
    pub async fn resume_run(&self, caller: Caller, run: RunId) -> Result<Run, Error> {
        self.execute_on_run(caller, run::Action::Resume { run }).await
    }

    /// Records the end of an outside agent's run.
    pub async fn end_run(&self, caller: Caller, run: RunId, conclusion: Conclusion) -> Result<Run, Error> {
        self.execute_on_run(caller, run::Action::End { run, fence: Fence::Owner, conclusion }).await
    }

    /// Records a step of an outside agent's run. Returns the recorded entry, whoever wrote it.
    pub async fn record_step(
        &self,
        caller: Caller,
        run: RunId,
        entry: NewEntry,
        write: Write,
    ) -> Result<RecordedEntry, Error> {
        let begins = matches!(write, Write::Begin);
        if begins || matches!(write, Write::Done(_)) {
            self.must_be_cleared(&caller, &run, &entry, begins).await?;
        }
        let keyed = caller.idempotency.is_some();
        let key = entry.key.clone();
        let journal_write = JournalWrite { run: run.clone(), fence: Fence::Owner, entry, write };
        match self.execute(caller, run::Action::Record(Box::new(journal_write))).await? {
            // A repeated request gets the first answer, which was "do it", unless the step has been
            // done since.
            Outcome::Entry(first) if begins && keyed => {
                self.must_not_be_stopped(&run).await?;
                let query = JournalQuery { run, after: None, limit: 1, key: Some(key), results: false };
                let stands = self.0.store.journal(query).await?.pop().map_or(*first, |line| line.entry);
                Ok(RecordedEntry { is_new: stands.state == EntryState::Begun, entry: stands })
            }
            Outcome::Entry(entry) => Ok(RecordedEntry { entry: *entry, is_new: true }),
            Outcome::Stands(entry) => Ok(RecordedEntry { entry: *entry, is_new: false }),
            other => Err(Error::Unreadable(format!("a step was expected, and this came: {other:?}"))),
        }
    }

    /// Refuses to repeat "do it" for a run that people have stopped since. A new request is judged
    /// in its transaction.
    async fn must_not_be_stopped(&self, run: &RunId) -> Result<(), Error> {
        let Some(run) = self.0.store.run(run).await? else { return Ok(()) };
        let gates = self.0.store.gates_of_run(&run.start.id).await?;
        Ok(run::must_not_be_stopped_at(&run, &gates)?)
    }

    /// Refuses to begin a step for a halted agent. A step that was begun can still be ended.
    async fn must_be_cleared(&self, caller: &Caller, run: &RunId, entry: &NewEntry, begins: bool) -> Result<(), Error> {
        // The rules report problems of the run itself better.
        let Some(run) = self.0.store.run(run).await?.filter(|run| run.ending().is_none()) else { return Ok(()) };
        // A halted token must not work under another agent's name.
        for agent in [Some(&caller.principal.name), entry.agent_id.as_ref()].into_iter().flatten() {
            if !self.is_cleared(agent, &run.start.session_id).await {
                if !begins && self.is_in_journal(&run.start.id, &entry.key).await? {
                    return Ok(());
                }
                return Err(Refusal::Halted { agent: agent.clone(), session: run.start.session_id }.into());
            }
        }
        Ok(())
    }

    async fn is_in_journal(&self, run: &RunId, key: &EntryKey) -> Result<bool, Error> {
        let query = JournalQuery { run: run.clone(), after: None, limit: 1, key: Some(key.clone()), results: false };
        Ok(!self.0.store.journal(query).await?.is_empty())
    }

    async fn execute_on_run(&self, caller: Caller, action: run::Action) -> Result<Run, Error> {
        match self.execute(caller, action).await? {
            Outcome::Run(run) => Ok(*run),
            other => Err(Error::Unreadable(format!("a run was expected, and this came: {other:?}"))),
        }
    }
}
