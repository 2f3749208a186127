//! Runs that nobody works on any more, and that no wake-up will bring back.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use folkmoot_core::{
    Action, Actor, Command, Name, Outcome, Run, RunId, Timestamp, node,
    run::{self, NewRun, RunLimits, RunState},
};
use folkmoot_engine::{Ctx, Engine, EngineSettings, Failure, GateSpec, TokioHost, WorkerSettings, Workflows};
use folkmoot_store::{AnyStore, ManualClock, Sqlite, Store, Witness};
use tokio::sync::watch;

use super::{House, LONG, start};
use crate::moot::{agent, alice};

async fn execute(store: &Sqlite, by: Actor, action: impl Into<Action>) -> Outcome {
    let id = "cmd-of-another-node".parse().unwrap();
    store
        .execute(Command {
            id,
            by,
            token: None,
            claims: None,
            idempotency: None,
            action: action.into(),
            quota: Default::default(),
            subscriptions: Default::default(),
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_node_that_always_has_something_to_do_takes_what_a_dead_one_had() {
    let open = watch::Sender::new(false);
    let opened = open.subscribe();
    let blocks = move |ctx: Ctx, (): ()| {
        let opened = opened.clone();
        async move {
            ctx.step("block", move || {
                let mut opened = opened.clone();
                async move {
                    opened.wait_for(|open| *open).await?;
                    Ok(())
                }
            })
            .await
        }
    };
    async fn quick(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("work", || async { Ok(1) }).await
    }
    let workflows = Workflows::new().with("blocks@1", blocks).with("quick@1", quick);
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let work = WorkerSettings { runs_at_once: 1, ..WorkerSettings::default() };
    let engine = start(&store, EngineSettings { workflows, work, ..EngineSettings::default() }).await;
    let house = House { engine, store, clock };
    let blocked = house.start("blocks@1", &()).await;
    house.until(&blocked, |run| matches!(run.state, RunState::Running { .. })).await;
    // Another node takes a run, and is never heard of again.
    let (dead, id): (Name, RunId) = ("dead".parse().unwrap(), "orphan".parse().unwrap());
    let new_run = NewRun {
        id: id.clone(),
        workflow: Some("quick@1".parse().unwrap()),
        title: String::new(),
        session_id: None,
        input: None,
        limits: RunLimits::default(),
    };
    execute(&house.store, Actor::Principal(agent()), run::Action::Start(Box::new(new_run))).await;
    let beat = Action::Node(node::Action::Heartbeat { node: dead.clone(), span: Duration::from_secs(5), alone: false });
    execute(&house.store, Actor::System, beat).await;
    let claim = run::Action::Claim { run: id.clone(), node: dead };
    execute(&house.store, Actor::System, claim).await;
    house.clock.advance(Duration::from_secs(6));
    let busy = house.engine.clone();
    let noise = tokio::spawn(async move {
        loop {
            busy.start_workflow(agent(), "quick@1", &()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    open.send_replace(true);
    let run = house.engine.wait_for_end(&alice(), &id, Duration::from_secs(3)).await.unwrap();
    noise.abort();
    assert!(run.ending().is_some(), "it stays {:?}", run.state);
}

async fn parent(ctx: Ctx, child: String) -> Result<(), Failure> {
    ctx.child("child", &child, &()).await
}

async fn child_of(house: &House, id: &RunId) -> Run {
    house.until(id, |run| run.steps == 1).await;
    house.engine.waiting_at(&house.run(id).await).await.unwrap().runs.pop().unwrap()
}

#[tokio::test]
async fn a_run_that_stopped_ends_with_the_one_that_started_it() {
    async fn stops(ctx: Ctx, (): ()) -> Result<(), Failure> {
        let both = ctx.join("both", [true, false], |ctx, gate| async move {
            if gate {
                return ctx.gate("go", GateSpec::new("Go on?")).await.map(drop);
            }
            ctx.sleep("long", Duration::from_secs(60)).await?;
            panic!("a bug of the workflow")
        });
        both.await.map(drop)
    }
    let house = House::with(Workflows::new().with("parent@1", parent).with("stops@1", stops)).await;
    let id = house.start("parent@1", &"stops@1").await;
    let child = child_of(&house, &id).await.start.id;
    house.parked(&child).await;
    house.clock.advance(Duration::from_secs(61));
    house.stopped(&child).await;
    house.engine.cancel_run(alice().into(), id, String::new()).await.unwrap();
    let ended = house.engine.wait_for_end(&alice(), &child, Duration::from_secs(4)).await.unwrap();
    assert!(ended.ending().is_some(), "it stays {:?}", ended.state);
}

#[tokio::test]
async fn a_run_that_would_start_what_nobody_here_can_execute_stops() {
    let mut house = House::with(Workflows::new().with("parent@1", parent)).await;
    let id = house.start("parent@1", &"later@1").await;
    let stopped = house.stopped(&id).await;
    assert!(stopped.starts_with("unknown_workflow: later@1 is not known here"), "{stopped}");
    async fn later(_: Ctx, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    house.restart(Workflows::new().with("parent@1", parent).with("later@1", later)).await;
    house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
    house.outcome(&id).await.unwrap();
}

/// Holds the answer to the first claim of a child back until it is told to go on.
#[derive(Debug)]
struct Late {
    claimed: watch::Sender<bool>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl Witness for Late {
    fn before(&self, _: &Command) -> bool {
        true
    }

    fn after(&self, command: &Command) -> bool {
        let is_child = |run: &RunId| run.as_str() != "parent";
        if matches!(&command.action, Action::Run(run::Action::Claim { run, .. }) if is_child(run))
            && !self.claimed.send_replace(true)
        {
            self.go_on.lock().unwrap().recv().unwrap();
        }
        true
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_run_that_was_just_claimed_ends_with_the_one_that_started_it() {
    async fn child(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.step("never", std::future::pending).await
    }
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let (tell, go_on) = mpsc::channel();
    let late = Arc::new(Late { claimed: watch::Sender::new(false), go_on: Mutex::new(go_on) });
    let workflows = Workflows::new().with("parent@1", parent).with("child@1", child);
    let settings = EngineSettings { workflows, ..EngineSettings::default() };
    let witnessed = AnyStore::Sqlite(store.again().unwrap().witnessed(late.clone()));
    let engine = Engine::start(witnessed, settings, Arc::new(TokioHost)).await.unwrap();
    let house = House { engine, store, clock };
    let id: RunId = "parent".parse().unwrap();
    let new_run = NewRun {
        id: id.clone(),
        workflow: Some("parent@1".parse().unwrap()),
        title: String::new(),
        session_id: None,
        input: Some("\"child@1\"".to_owned()),
        limits: RunLimits::default(),
    };
    house.engine.start_run(agent().into(), new_run).await.unwrap();
    late.claimed.subscribe().wait_for(|claimed| *claimed).await.unwrap();
    let child = child_of(&house, &id).await.start.id;
    house.engine.cancel_run(alice().into(), id.clone(), String::new()).await.unwrap();
    // Long enough for the node to hear of it.
    tokio::time::sleep(Duration::from_millis(100)).await;
    tell.send(()).unwrap();
    let ended = house.engine.wait_for_end(&alice(), &child, LONG / 5).await.unwrap();
    assert!(ended.ending().is_some(), "it stays {:?}", ended.state);
}
