//! Stop always works.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{Status, question::QuestionType};
use folkmoot_engine::{Ask, Ctx, Failure, GateRequest, Workflows};

use super::{House, refusal};
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
                true => ctx.gate("gate", GateRequest::new("Go on?")).await.map(drop),
                false => ctx.ask("ask", Ask::new(QuestionType::Approval, "May I?")).await.map(drop),
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
    house.engine.cancel_run(agent().into(), id.clone(), String::new()).await.unwrap();
    let gate = house.engine.gate(&alice(), &waiting.gates[0].id).await.unwrap().gate;
    assert_eq!(gate.status(), Status::Cancelled);
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
