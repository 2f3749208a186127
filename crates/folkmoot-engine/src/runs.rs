//! Reading runs: their state, what they wait for, and their steps.

use std::time::Duration;

use folkmoot_core::{
    Deadline, Gate, GateStatus, Name, Principal, Question, Refusal, Run, RunId, Timestamp,
    journal::{Entry, Waits},
    question::QuestionStatus,
    run::{self, RunState},
};
use folkmoot_store::{Error, GateQuery, JournalLine, JournalQuery, Page, QuestionQuery, RunQuery, Store};

use crate::Engine;

/// How many gates and questions of a waiting run are listed.
const WAITS: u32 = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WaitDetails {
    pub gates: Vec<Gate>,
    pub questions: Vec<Question>,
    /// Unfinished child runs.
    pub runs: Vec<Run>,
    /// When its first sleep ends.
    pub until: Option<Timestamp>,
    /// Its agents that wait for clearance.
    pub held: Vec<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunWaitOutcome {
    pub at: Timestamp,
    /// The decision, or the end of the question or run, as one word.
    pub outcome: Option<&'static str>,
}

impl Engine {
    /// One run, if `principal` may see it.
    pub async fn run(&self, principal: &Principal, id: &RunId) -> Result<Run, Error> {
        let found = self.0.store.run(id).await?;
        let unknown = || Refusal::UnknownRun { run: id.clone() };
        Ok(found.filter(|run| run.may_be_seen_by(principal)).ok_or_else(unknown)?)
    }

    /// A page of the runs that `principal` may see.
    pub async fn runs(&self, principal: &Principal, mut query: RunQuery) -> Result<Page<Run>, Error> {
        if !principal.role.sees_everything() {
            query.initiator = Some(principal.name.clone());
        }
        self.0.store.runs(query).await
    }

    pub async fn waiting_at(&self, run: &Run) -> Result<WaitDetails, Error> {
        if run.ending().is_some() {
            return Ok(WaitDetails::default());
        }
        let id = Some(run.start.id.clone());
        let gates =
            GateQuery { run: id.clone(), status: Some(GateStatus::Pending), limit: WAITS, ..GateQuery::default() };
        let status = Some(QuestionStatus::Pending);
        let questions = QuestionQuery { run: id.clone(), status, limit: WAITS, ..QuestionQuery::default() };
        let children = RunQuery { parent: id, limit: WAITS, ..RunQuery::default() };
        let (until, held) = match &run.state {
            RunState::Parked(parked) => (parked.due, parked.held.clone()),
            RunState::Pending
            | RunState::Outside
            | RunState::Running { .. }
            | RunState::Stopped { .. }
            | RunState::Ended(_) => (Deadline::Never, Vec::new()),
        };
        let children = self.0.store.runs(children).await?.items;
        Ok(WaitDetails {
            gates: self.0.store.gates(gates).await?.items.into_iter().map(|view| view.gate).collect(),
            questions: self.0.store.questions(questions).await?.items.into_iter().map(|view| view.question).collect(),
            runs: children.into_iter().filter(|child| child.ending().is_none()).collect(),
            until: until.moment(),
            held,
        })
    }

    /// A page of the journal of a run that `principal` may see.
    pub async fn journal(&self, principal: &Principal, query: JournalQuery) -> Result<Vec<JournalLine>, Error> {
        self.run(principal, &query.run).await?;
        self.0.store.journal(query).await
    }

    /// How a wait ended, if it has. The journal records only what the run waits for.
    pub async fn awaited(&self, waits: &Waits) -> Result<Option<RunWaitOutcome>, Error> {
        let store = &self.0.store;
        Ok(match waits {
            Waits::Gate(id) => store.gate(id).await?.and_then(|view| {
                let decision = view.gate.decision()?;
                Some(RunWaitOutcome { at: decision.decided_at, outcome: Some(view.gate.status().word()) })
            }),
            Waits::Question(id) => store.question(id).await?.and_then(|view| {
                let closure = view.question.closure()?;
                Some(RunWaitOutcome { at: closure.at, outcome: Some(closure.status.word()) })
            }),
            Waits::Run(id) => store.run(id).await?.and_then(|run| {
                let ending = run.ending()?;
                Some(RunWaitOutcome { at: ending.at, outcome: Some(ending.outcome.word()) })
            }),
            Waits::Until(moment) => (*moment <= self.now()).then_some(RunWaitOutcome { at: *moment, outcome: None }),
        })
    }

    /// The next events after `after` of a run that `principal` may see, its gates and its
    /// questions.
    pub async fn events_of_run(
        &self,
        principal: &Principal,
        id: &RunId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<folkmoot_core::Event>, Error> {
        self.run(principal, id).await?;
        self.0.store.events_of_run(id, after, limit).await
    }

    /// Waits until the run is over or `timeout` has passed, and returns it.
    pub async fn wait_for_end(&self, principal: &Principal, id: &RunId, timeout: Duration) -> Result<Run, Error> {
        let mut over = self.0.host.sleep(timeout);
        let mut listening = self.0.waiters.listen(&run::stream(id));
        loop {
            let run = self.run(principal, id).await?;
            if run.ending().is_some() {
                return Ok(run);
            }
            loop {
                tokio::select! {
                    biased;
                    event = listening.next() => if event.is_none_or(|event| event.fact.kind == "run.ended") { break },
                    () = &mut over => return self.run(principal, id).await,
                }
            }
        }
    }

    /// A completed run's output, as JSON.
    pub async fn output(&self, run: &Run) -> Result<Option<String>, Error> {
        self.recorded(run.ending().and_then(|ending| ending.output)).await
    }

    /// A run's input, as JSON.
    pub async fn input(&self, run: &Run) -> Result<Option<String>, Error> {
        self.recorded(run.start.input).await
    }

    /// A completed step's result, as JSON.
    pub async fn result(&self, entry: &Entry) -> Result<Option<String>, Error> {
        self.recorded(entry.result()).await
    }
}
