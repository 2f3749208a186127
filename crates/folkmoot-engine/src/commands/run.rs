//! Starting, cancelling, resuming and ending runs, and recording the steps of somebody else's
//! agent.

use folkmoot_core::{
    Action, Outcome, Refusal, Run, RunId,
    journal::{Entry, EntryKey, EntryState, Fence, NewEntry, Recording, Write},
    run::{BadWorkflowName, Conclusion, RunLimits, Starting},
};
use folkmoot_store::{Error, JournalQuery, Store};
use serde::Serialize;

use crate::{Caller, Engine};

/// A journal entry that an outside agent recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedEntry {
    /// As it is.
    pub entry: Entry,
    /// Whether this call wrote it; otherwise it stood before. Of two that begin the same step only
    /// one is told so.
    pub is_new: bool,
}

impl Engine {
    /// A new run's id.
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
        let starting = Starting {
            id: self.new_run_id(),
            workflow: Some(workflow),
            title: String::new(),
            session_id: None,
            input: Some(input),
            limits: RunLimits::default(),
        };
        self.start_run(caller.into(), starting).await
    }

    /// Starts a run. Its workflow must be one that this node knows.
    pub async fn start_run(&self, caller: Caller, starting: Starting) -> Result<Run, Error> {
        Ok(self.start_or_find_run(caller, starting).await?.0)
    }

    /// As [`Engine::start_run`], and says whether the run is new: whoever starts the same under the
    /// same id finds it.
    pub async fn start_or_find_run(&self, caller: Caller, starting: Starting) -> Result<(Run, bool), Error> {
        if let Some(workflow) = &starting.workflow {
            self.worker().must_know(workflow).map_err(|problem| Refusal::invalid("workflow", problem))?;
        }
        match self.execute(caller, Action::StartRun(Box::new(starting))).await? {
            Outcome::Run(run) => Ok((*run, true)),
            Outcome::ExistingRun(run) => Ok((*run, false)),
            other => Err(Error::Unreadable(format!("a run was expected, and this came: {other:?}"))),
        }
    }

    /// Ends a run, in any state, and with it whatever of it is in flight or open.
    pub async fn cancel_run(&self, caller: Caller, run: RunId, reason: String) -> Result<Run, Error> {
        self.execute_on_run(caller, Action::CancelRun { run, reason }).await
    }

    /// Lets a run that stopped go on. A run that waits is not moved by it.
    pub async fn resume_run(&self, caller: Caller, run: RunId) -> Result<Run, Error> {
        self.execute_on_run(caller, Action::ResumeRun { run }).await
    }

    /// Says how a run ended that somebody else's agent executes.
    pub async fn end_run(&self, caller: Caller, run: RunId, conclusion: Conclusion) -> Result<Run, Error> {
        self.execute_on_run(caller, Action::EndRun { run, fence: Fence::Owner, conclusion }).await
    }

    /// Records a step of a run that somebody else's agent executes. What stands is returned,
    /// whoever wrote it.
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
        let recording = Recording { run: run.clone(), fence: Fence::Owner, entry, write };
        match self.execute(caller, Action::Record(Box::new(recording))).await? {
            // A repetition gets the first answer, which was "do it"; but not where it has been done
            // since.
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

    /// Refuses to say "do it" once more for a run that people have stopped since. A new request is
    /// judged in its transaction.
    async fn must_not_be_stopped(&self, run: &RunId) -> Result<(), Error> {
        let Some(run) = self.0.store.run(run).await? else { return Ok(()) };
        let gates = self.0.store.gates_of_run(&run.start.id).await?;
        Ok(folkmoot_core::judge::must_not_be_stopped_at(&run, &gates)?)
    }

    /// Refuses to begin anything for an agent that is halted, as a workflow's steps wait then. What
    /// was begun before can be ended.
    async fn must_be_cleared(&self, caller: &Caller, run: &RunId, entry: &NewEntry, begins: bool) -> Result<(), Error> {
        // What is wrong with the run itself, the rules say better.
        let Some(run) = self.0.store.run(run).await?.filter(|run| run.ending().is_none()) else { return Ok(()) };
        // A token that is halted does not work under another agent's name either.
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

    async fn execute_on_run(&self, caller: Caller, action: Action) -> Result<Run, Error> {
        match self.execute(caller, action).await? {
            Outcome::Run(run) => Ok(*run),
            other => Err(Error::Unreadable(format!("a run was expected, and this came: {other:?}"))),
        }
    }
}
