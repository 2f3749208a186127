//! Commands on runs in one line each. Workers speak as the system.

use std::time::Duration;

use folkmoot_core::{
    Action, Actor, Command, Deadline, Outcome, Run, RunId, WorkflowName,
    journal::{Entry, EntryKind, Fence, NewEntry, Recording, StepError, Write},
    question::{Asking, QuestionPolicy, QuestionType},
    run::{Claiming, Conclusion, Parking, RunLimits, Starting, Stopping},
};
use folkmoot_store::{Error, Store};
use futures_util::future::join_all;

use super::{agent, asking, command, name, noon, opening};

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub(crate) fn workflow(text: &str) -> WorkflowName {
    text.parse().unwrap()
}

/// A run of `draft@1` in session `s1`.
pub(crate) fn starting(run: &str) -> Starting {
    Starting {
        id: run_id(run),
        workflow: Some(workflow("draft@1")),
        title: String::new(),
        session_id: Some("s1".parse().unwrap()),
        input: None,
        limits: RunLimits::default(),
    }
}

pub(crate) fn start(starting: Starting) -> Command {
    command(agent("agent-a"), Action::StartRun(Box::new(starting)))
}

pub(crate) fn claim(run: &str, node: &str) -> Command {
    command(Actor::System, Action::Claim(Claiming { run: run_id(run), node: name(node) }))
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
        Action::Record(Box::new(Recording { run: run_id(run), fence: Fence::Epoch(epoch), entry, write })),
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
    let opening = folkmoot_core::gate::Opening { id: gate.parse().unwrap(), ..opening() };
    Write::Open {
        opening: Box::new(opening),
        policy: folkmoot_core::gate::GatePolicy::default(),
        contents: Vec::new(),
        alone: None,
    }
}

/// Asks the question of this id for the run that records it, as the agent that is that run.
pub(crate) fn asks(question: &str, question_type: QuestionType) -> Write {
    asks_as(Asking { id: question.parse().unwrap(), agent_id: None, session_id: None, ..asking(question_type) })
}

pub(crate) fn asks_as(asking: Asking) -> Write {
    let usual = QuestionPolicy::default().usual(asking.question_type);
    Write::Ask { asking: Box::new(asking), usual }
}

pub(crate) fn starts(run: &str) -> Write {
    Write::Start(Box::new(Starting { session_id: None, ..starting(run) }))
}

/// A worker that knows of so many wake-ups, and waits for nothing but more.
pub(crate) fn parking(run: &str, epoch: u64, wakes: u64) -> Parking {
    Parking {
        run: run_id(run),
        epoch,
        wakes,
        due: Deadline::Never,
        held: Vec::new(),
        outages: Vec::new(),
        session_id: "s1".parse().unwrap(),
    }
}

pub(crate) fn park(parking: Parking) -> Command {
    command(Actor::System, Action::Park(parking))
}

/// A parking in which these agents wait for clearance.
pub(crate) fn parking_held(run: &str, epoch: u64, wakes: u64, agents: &[&str]) -> Parking {
    Parking { held: agents.iter().map(|agent| name(agent)).collect(), ..parking(run, epoch, wakes) }
}

pub(crate) fn wake(run: &str) -> Command {
    command(Actor::System, Action::Wake { run: run_id(run) })
}

pub(crate) fn stop(run: &str, epoch: u64) -> Command {
    let (code, message) = ("stuck".to_owned(), "look at it".to_owned());
    command(Actor::System, Action::Stop(Stopping { run: run_id(run), epoch, code, message }))
}

pub(crate) fn end(run: &str, epoch: u64, output: &str) -> Command {
    let conclusion = Conclusion::Completed { output: output.to_owned() };
    command(Actor::System, Action::EndRun { run: run_id(run), fence: Fence::Epoch(epoch), conclusion })
}

pub(crate) fn cancel_run(run: &str) -> Command {
    command(agent("agent-a"), Action::CancelRun { run: run_id(run), reason: "not needed any more".to_owned() })
}

pub(crate) fn resume_run(run: &str) -> Command {
    command(agent("agent-a"), Action::ResumeRun { run: run_id(run) })
}

pub(crate) fn beat(node: &str, span: Duration) -> Command {
    command(Actor::System, Action::Heartbeat { node: name(node), span, alone: false })
}

pub(crate) fn leave(node: &str) -> Command {
    command(Actor::System, Action::Leave { node: name(node) })
}

/// A run of `draft@1` in session `s1`, worked on by `n1`, under claim 1.
pub(crate) async fn a_worked_on_run(store: &impl Store, run: &str) -> Run {
    run_of(store.execute(start(starting(run))).await);
    claimed_of(store.execute(claim(run, "n1")).await).0
}

/// The same, parked under claim 1 until it is woken for the first time.
pub(crate) async fn a_parked_run(store: &impl Store, run: &str) -> Run {
    a_worked_on_run(store, run).await;
    run_of(store.execute(park(parking(run, 1, 0))).await)
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
