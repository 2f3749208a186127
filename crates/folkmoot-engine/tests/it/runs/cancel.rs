//! Stop always works.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{GateStatus, Timestamp, question::QuestionType};
use folkmoot_engine::{Ctx, EngineSettings, Failure, GateSpec, QuestionSpec, RunQuery, WorkerSettings, Workflows};
use folkmoot_store::{ManualClock, Sqlite};
use futures_util::future::join_all;

use super::{House, refusal, start};
use crate::moot::{agent, alice};

/// Notes that it was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn cancel_reaches_a_step_in_flight() {
    let dropped = Arc::new(AtomicBool::new(false));
    let seen = dropped.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let seen = seen.clone();
        async move {
            let call = ctx.step("call", move || {
                let guard = Dropped(seen.clone());
                async move {
                    let _guard = guard;
                    std::future::pending::<Result<(), Failure>>().await
                }
            });
            call.await
        }
    };
    let house = House::with(Workflows::new().with("call@1", workflow)).await;
    let id = house.start("call@1", &()).await;
    while house.engine.steps_in_flight().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let run = house.engine.cancel_run(alice().into(), id.clone(), "enough".to_owned()).await.unwrap();
    assert_eq!(run.status().word(), "cancelled");
    for _ in 0..1000 {
        if dropped.load(Ordering::SeqCst) && house.engine.active_runs() == 0 {
            assert_eq!(house.engine.steps_in_flight(), Vec::new());
            assert_eq!(house.outcome(&id).await.unwrap_err(), "cancelled : enough");
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the step goes on");
}

#[tokio::test]
async fn cancel_closes_what_the_run_has_open() {
    async fn both(ctx: Ctx, (): ()) -> Result<(), Failure> {
        let waits = ctx.join("both", [true, false], |ctx, gate| async move {
            match gate {
                true => ctx.gate("gate", GateSpec::new("Go on?")).await.map(drop),
                false => ctx.ask("ask", QuestionSpec::new(QuestionType::Approval, "May I?")).await.map(drop),
            }
        });
        waits.await.map(drop)
    }
    let house = House::with(Workflows::new().with("both@1", both)).await;
    let id = house.start("both@1", &()).await;
    let run = house.parked(&id).await;
    let waiting = house.engine.waiting_at(&run).await.unwrap();
    assert_eq!((waiting.gates.len(), waiting.questions.len()), (1, 1));
    let session = run.start.session_id.as_str();
    assert!(!house.engine.can_proceed("anybody", Some(session)));
    house.engine.cancel_run(alice().into(), id.clone(), String::new()).await.unwrap();
    let gate = house.engine.gate(&alice(), &waiting.gates[0].id).await.unwrap().gate;
    assert_eq!(gate.status(), GateStatus::Cancelled);
    assert_eq!(gate.decision().unwrap().reason, format!("its run {id} is over: cancelled"));
    let question = house.engine.question(&alice(), &waiting.questions[0].id).await.unwrap().question;
    assert_eq!(question.status().word(), "cancelled");
    for _ in 0..1000 {
        if house.engine.can_proceed("anybody", Some(session)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the session stays halted");
}

#[tokio::test]
async fn a_run_can_be_cancelled_while_it_sleeps_and_only_once() {
    async fn sleeps(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.sleep("long", Duration::from_secs(3600)).await
    }
    let house = House::with(Workflows::new().with("sleeps@1", sleeps)).await;
    let id = house.start("sleeps@1", &()).await;
    house.parked(&id).await;
    house.engine.cancel_run(agent().into(), id.clone(), String::new()).await.unwrap();
    let again = house.engine.cancel_run(agent().into(), id.clone(), String::new()).await;
    assert_eq!(refusal(again), "run_ended");
    house.clock.advance(Duration::from_secs(7200));
    house.engine.fire_due().await.unwrap();
    assert_eq!(house.run(&id).await.status().word(), "cancelled");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_many_that_were_cancelled_wherever_they_were() {
    async fn mixed(ctx: Ctx, n: u32) -> Result<(), Failure> {
        let branches = ctx.join("all", 0..4, |ctx, branch| async move {
            match (n + branch) % 4 {
                0 => ctx.step("never", std::future::pending).await,
                1 => ctx.gate("go", GateSpec::new("Go on?")).await.map(drop),
                2 => ctx.child("child", "sleeps@1", &()).await,
                _ => ctx.step("quick", || async { Ok(()) }).once().await,
            }
        });
        branches.await.map(drop)
    }
    async fn sleeps(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.sleep("long", Duration::from_secs(3600)).await
    }
    async fn quick(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("quick", || async { Ok(1) }).await
    }
    let workflows = Workflows::new().with("mixed@1", mixed).with("sleeps@1", sleeps).with("quick@1", quick);
    let clock = Arc::new(ManualClock::at(Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let work = WorkerSettings { runs_at_once: 20, steps_at_once: 3, ..WorkerSettings::default() };
    let engine = start(&store, EngineSettings { workflows, work, ..EngineSettings::default() }).await;
    let house = House { engine, store, clock };
    let numbers: Vec<u32> = (0..200).collect();
    let ids = join_all(numbers.iter().map(|n| house.start("mixed@1", n))).await;
    let cancels = ids.iter().map(|id| house.engine.cancel_run(alice().into(), id.clone(), String::new()));
    assert!(join_all(cancels).await.iter().all(Result::is_ok));
    // All slots and turns are free again.
    for id in join_all((0..20).map(|_| house.start("quick@1", &()))).await {
        assert_eq!(house.outcome(&id).await.unwrap(), 1);
    }
    for _ in 0..2000 {
        let open = RunQuery { status: Some(folkmoot_core::run::RunStatus::Parked), limit: 1, ..RunQuery::default() };
        let left = house.engine.runs(&alice(), open).await.unwrap().items;
        if left.is_empty() && house.engine.active_runs() == 0 && house.engine.steps_in_flight().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{} runs are active, and {:?} in flight", house.engine.active_runs(), house.engine.steps_in_flight());
}
