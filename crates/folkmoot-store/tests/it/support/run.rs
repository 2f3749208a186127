//! Commands on runs in one line each. Workers speak as the system.

use std::time::Duration;

use folkmoot_core::{
    Actor, Command, Deadline, Outcome, Run, RunId, WorkflowName,
    journal::{Entry, EntryKind, Fence, JournalWrite, NewEntry, StepError, Write},
    node,
    question::{NewQuestion, QuestionPolicy, QuestionType},
    run::{self, Conclusion, NewRun, ParkRequest, RunLimits},
};
use folkmoot_store::{Error, Store};
use futures_util::future::join_all;

use super::{agent, command, name, new_gate, new_question, noon};

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub(crate) fn workflow(text: &str) -> WorkflowName {
    text.parse().unwrap()
}

/// A run of `draft@1` in session `s1`.
pub(crate) fn new_run(run: &str) -> NewRun {
    NewRun {
        id: run_id(run),
        workflow: Some(workflow("draft@1")),
        title: String::new(),
        session_id: Some("s1".parse().unwrap()),
        input: None,
        limits: RunLimits::default(),
    }
}

pub(crate) fn start(new_run: NewRun) -> Command {
    command(agent("agent-a"), run::Action::Start(Box::new(new_run)))
}

pub(crate) fn claim(run: &str, node: &str) -> Command {
    command(Actor::System, run::Action::Claim { run: run_id(run), node: name(node) })
}

pub(crate) fn record(run: &str, epoch: u64, key: &str, write: Write) -> Command {
    let kind = match &write {
        Write::Begin | Write::Failing(..) | Write::Done(_) | Write::Failed(_) => EntryKind::Step,
        Write::Open { .. } => EntryKind::Gate,
        Write::Ask { .. } => EntryKind::Question,
        Write::Sleep(_) => EntryKind::Sleep,
        Write::Start(_) => EntryKind::Run,
        Write::Emit { .. } => EntryKind::Event,
    };
    let entry = NewEntry { key: key.parse().unwrap(), kind, ordinal: 1, input: None, agent_id: None, began_at: noon() };
    command(
        Actor::System,
        run::Action::Record(Box::new(JournalWrite { run: run_id(run), fence: Fence::Epoch(epoch), entry, write })),
    )
}

pub(crate) fn done(result: &str) -> Write {
    Write::Done(result.to_owned())
}

pub(crate) fn boom() -> StepError {
    StepError::new("boom", "it broke")
}

/// Opens the gate of this id for the run that records it.
pub(crate) fn opens(gate: &str) -> Write {
    let new_gate = folkmoot_core::gate::NewGate { id: gate.parse().unwrap(), ..new_gate() };
    Write::Open {
        new_gate: Box::new(new_gate),
        policy: folkmoot_core::gate::GatePolicy::default(),
        contents: Vec::new(),
        alone: None,
    }
}

/// Asks the question of this id for the run that records it, as the agent that is that run.
pub(crate) fn asks(question: &str, question_type: QuestionType) -> Write {
    asks_as(NewQuestion {
        id: question.parse().unwrap(),
        agent_id: None,
        session_id: None,
        ..new_question(question_type)
    })
}

pub(crate) fn asks_as(new_question: NewQuestion) -> Write {
    let defaults = QuestionPolicy::default().defaults(new_question.question_type);
    Write::Ask { new_question: Box::new(new_question), defaults }
}

pub(crate) fn starts(run: &str) -> Write {
    Write::Start(Box::new(NewRun { session_id: None, ..new_run(run) }))
}

/// A worker that knows of so many wake-ups, and waits for nothing but more.
pub(crate) fn park_request(run: &str, epoch: u64, wakes: u64) -> ParkRequest {
    ParkRequest {
        run: run_id(run),
        epoch,
        wakes,
        due: Deadline::Never,
        held: Vec::new(),
        outages: Vec::new(),
        session_id: "s1".parse().unwrap(),
    }
}

pub(crate) fn park(park_request: ParkRequest) -> Command {
    command(Actor::System, run::Action::Park(park_request))
}

/// A parking in which these agents wait for clearance.
pub(crate) fn parking_held(run: &str, epoch: u64, wakes: u64, agents: &[&str]) -> ParkRequest {
    ParkRequest { held: agents.iter().map(|agent| name(agent)).collect(), ..park_request(run, epoch, wakes) }
}

pub(crate) fn wake(run: &str) -> Command {
    command(Actor::System, run::Action::TimerDue { run: run_id(run) })
}

pub(crate) fn stop(run: &str, epoch: u64) -> Command {
    let (code, message) = ("stuck".to_owned(), "look at it".to_owned());
    command(Actor::System, run::Action::Stop { run: run_id(run), epoch, code, message })
}

pub(crate) fn end(run: &str, epoch: u64, output: &str) -> Command {
    let conclusion = Conclusion::Completed { output: output.to_owned() };
    command(Actor::System, run::Action::End { run: run_id(run), fence: Fence::Epoch(epoch), conclusion })
}

pub(crate) fn cancel_run(run: &str) -> Command {
    command(agent("agent-a"), run::Action::Cancel { run: run_id(run), reason: "not needed any more".to_owned() })
}

pub(crate) fn resume_run(run: &str) -> Command {
    command(agent("agent-a"), run::Action::Resume { run: run_id(run) })
}

pub(crate) fn beat(node: &str, span: Duration) -> Command {
    command(Actor::System, node::Action::Heartbeat { node: name(node), span, alone: false })
}

pub(crate) fn leave(node: &str) -> Command {
    command(Actor::System, node::Action::Leave { node: name(node) })
}

/// A run of `draft@1` in session `s1`, worked on by `n1`, under claim 1.
pub(crate) async fn a_worked_on_run(store: &impl Store, run: &str) -> Run {
    run_of(store.execute(start(new_run(run))).await);
    claimed_of(store.execute(claim(run, "n1")).await).0
}

/// The same, parked under claim 1 until it is woken for the first time.
pub(crate) async fn a_parked_run(store: &impl Store, run: &str) -> Run {
    a_worked_on_run(store, run).await;
    run_of(store.execute(park(park_request(run, 1, 0))).await)
}

/// Sends all of them while the writer is busy with something else, so that they share a batch, in
/// this order.
pub(crate) async fn at_once(
    store: &impl Store,
    commands: impl IntoIterator<Item = Command>,
) -> Vec<Result<Outcome, Error>> {
    let busy = [beat("node-that-keeps-the-writer-busy", Duration::from_secs(1))];
    let all = busy.into_iter().chain(commands);
    join_all(all.map(|command| store.execute(command))).await.split_off(1)
}

/// As [`at_once`], of so many as are sent.
pub(crate) async fn all_at_once<const N: usize>(
    store: &impl Store,
    commands: [Command; N],
) -> [Result<Outcome, Error>; N] {
    at_once(store, commands).await.try_into().unwrap()
}

/// The runs of `draft@1` that a worker can take.
pub(crate) async fn ready(store: &impl Store) -> Vec<String> {
    let ready = store.ready(&[workflow("draft@1")], 100).await.unwrap();
    ready.iter().map(ToString::to_string).collect()
}

/// The runs of `draft@1` whose node has died.
pub(crate) async fn orphans(store: &impl Store) -> Vec<String> {
    let orphans = store.orphans(&[workflow("draft@1")], 100).await.unwrap();
    orphans.iter().map(ToString::to_string).collect()
}

#[track_caller]
pub(crate) fn run_of(outcome: Result<Outcome, Error>) -> Run {
    match outcome {
        Ok(Outcome::Run(run)) => *run,
        other => panic!("not a run: {other:?}"),
    }
}

/// The run, and the wake-ups that it has had.
#[track_caller]
pub(crate) fn claimed_of(outcome: Result<Outcome, Error>) -> (Run, u64) {
    match outcome {
        Ok(Outcome::Claimed(run, wakes)) => (*run, wakes),
        other => panic!("not claimed: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn entry_of(outcome: Result<Outcome, Error>) -> Entry {
    match outcome {
        Ok(Outcome::Entry(entry) | Outcome::Stands(entry)) => *entry,
        other => panic!("not a line of a journal: {other:?}"),
    }
}
