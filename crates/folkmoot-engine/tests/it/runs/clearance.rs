//! Before every step that does work, its agent needs clearance.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Role, Scope,
    halt::NewHalt,
    question::{Close, NewQuestion, QuestionType, Reply},
};
use folkmoot_engine::{Ctx, Failure, GateSpec, QuestionSpec, Workflows};

use super::House;
use crate::moot::{agent, alice, principal};

/// A gate and then a step, which is counted.
fn gated() -> (Workflows, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let counted = counted.clone();
        async move {
            ctx.gate("go", GateSpec::new("Go on?")).await?;
            ctx.step("work", move || {
                counted.fetch_add(1, Ordering::SeqCst);
                std::future::ready(Ok(()))
            })
            .await
        }
    };
    (Workflows::new().with("gated@1", workflow), count)
}

#[tokio::test]
async fn an_emergency_stops_all_runs_before_their_next_step_and_its_answer_releases_them() {
    let (workflows, count) = gated();
    let mut house = House::with(workflows.clone()).await;
    let mut runs = Vec::new();
    for _ in 0..50 {
        runs.push(house.start("gated@1", &()).await);
    }
    for id in &runs {
        house.parked(id).await;
    }
    let new_question = NewQuestion {
        id: house.engine.new_question_id(),
        agent_id: None,
        run_id: None,
        session_id: None,
        question_type: QuestionType::Emergency,
        text: "Smoke!".to_owned(),
        options: Vec::new(),
        default: None,
        timeout: None,
        halts: None,
        priority: None,
    };
    let emergency = house.engine.ask(agent().into(), new_question).await.unwrap();
    for id in &runs {
        house.approve(id).await;
    }
    let held = |run: &folkmoot_core::Run| matches!(&run.state, folkmoot_core::run::RunState::Parked(parked) if !parked.held.is_empty());
    for id in &runs {
        house.until(id, held).await;
    }
    // Also a node that starts now knows of it.
    house.restart(workflows).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((count.load(Ordering::SeqCst), house.engine.active_runs()), (0, 0));
    let reply = Reply { question: emergency.id, close: Close::Answer("put out".into()), reason: String::new() };
    house.engine.close_question(alice().into(), reply).await.unwrap();
    for id in &runs {
        house.outcome(id).await.unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 50);
}

#[tokio::test]
async fn a_halted_agent_stops_only_where_it_works() {
    async fn two(ctx: Ctx, (): ()) -> Result<Vec<u32>, Failure> {
        let work = ctx.join("each", ["ada", "bob"], |ctx, name| async move {
            ctx.step("work", || async { Ok(1) }).agent(name.parse().unwrap()).await
        });
        work.await
    }
    let house = House::with(Workflows::new().with("two@1", two)).await;
    let admin = principal("root", Role::Admin);
    let new_halt = NewHalt {
        id: house.engine.new_halt_id(),
        scope: Scope::Agent,
        agent_id: Some("bob".parse().unwrap()),
        session_id: None,
        reason: "look first".to_owned(),
    };
    let halt = house.engine.raise_halt(admin.clone().into(), new_halt).await.unwrap();
    let id = house.start("two@1", &()).await;
    let run = house.parked(&id).await;
    assert_eq!(house.engine.waiting_at(&run).await.unwrap().held, ["bob".parse().unwrap()]);
    assert_eq!(run.steps, 1, "ada has worked");
    house.engine.lift_halt(admin.into(), halt.id).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!([1, 1]));
}

#[tokio::test]
async fn a_denial_is_heard_by_the_workflow_and_holds_it_no_longer() {
    async fn asks(ctx: Ctx, (): ()) -> Result<(bool, u32), Failure> {
        let answer = ctx.ask("may", QuestionSpec::new(QuestionType::Approval, "May I?")).await?;
        let after: u32 = ctx.step("after", || async { Ok(1) }).await?;
        Ok((answer.is_given(), after))
    }
    let house = House::with(Workflows::new().with("asks@1", asks)).await;
    let id = house.start("asks@1", &()).await;
    let run = house.parked(&id).await;
    let question = house.engine.waiting_at(&run).await.unwrap().questions.pop().unwrap();
    let reply = Reply { question: question.id, close: Close::Deny, reason: "no".to_owned() };
    house.engine.close_question(alice().into(), reply).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!([false, 1]));
}

#[tokio::test]
async fn a_denial_is_the_same_in_every_pass() {
    async fn asks(ctx: Ctx, (): ()) -> Result<(), Failure> {
        let answer = ctx.ask("may", QuestionSpec::new(QuestionType::Approval, "May I?")).await?;
        ctx.gate("go", GateSpec::new(format!("Go on in spite of {answer:?}?"))).await.map(drop)
    }
    let mut house = House::with(Workflows::new().with("asks@1", asks)).await;
    let id = house.start("asks@1", &()).await;
    let run = house.parked(&id).await;
    let question = house.engine.waiting_at(&run).await.unwrap().questions.pop().unwrap();
    let reply = Reply { question: question.id, close: Close::Deny, reason: "no".to_owned() };
    house.engine.close_question(alice().into(), reply).await.unwrap();
    house.gate(&id).await;
    house.parked(&id).await;
    house.restart(Workflows::new().with("asks@1", asks)).await;
    house.approve(&id).await;
    house.outcome(&id).await.unwrap();
}
