//! What is the same in every pass.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{Ctx, Failure, GateRequest, Workflows, key};

use super::House;
use crate::moot::alice;

async fn values(ctx: Ctx, (): ()) -> Result<(String, u64), Failure> {
    let (now, chance) = (ctx.now("now").await?, ctx.random("chance").await?);
    ctx.emit("told", "sample.told", &serde_json::json!({ "chance": chance })).await?;
    ctx.gate("go", GateRequest::new("Go on?")).await?;
    Ok((now.to_string(), chance))
}

#[tokio::test]
async fn time_and_chance_are_drawn_once_and_events_told_once() {
    let mut house = House::with(Workflows::new().with("values@1", values)).await;
    let began = house.engine.now().to_string();
    let id = house.start("values@1", &()).await;
    house.parked(&id).await;
    house.clock.advance(Duration::from_secs(60));
    house.restart(Workflows::new().with("values@1", values)).await;
    house.approve(&id).await;
    let outcome = house.outcome(&id).await.unwrap();
    assert_eq!(outcome[0], began);
    let events = house.engine.events_of_run(&alice(), &id, 0, 1000).await.unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.fact.kind == "sample.told").collect();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].fact.payload, format!("{{\"chance\":{}}}", outcome[1]));
    let kinds: Vec<&str> = events.iter().map(|event| event.fact.kind.as_ref()).collect();
    assert_eq!(
        kinds,
        [
            "run.started",
            "run.claimed",
            "step.recorded",
            "step.recorded",
            "step.recorded",
            "sample.told",
            "step.recorded",
            "gate.opened",
            "run.parked",
            "gate.decided",
            "run.resumed",
            "run.ended"
        ]
    );
}

#[tokio::test]
async fn a_workflow_cannot_tell_what_only_folkmoot_tells() {
    async fn lies(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.emit("lie", "gate.decided", &"approved").await
    }
    let house = House::with(Workflows::new().with("lies@1", lies)).await;
    let failed = house.outcome(&house.start("lies@1", &()).await).await.unwrap_err();
    assert!(failed.starts_with("failed invalid"), "{failed}");
}

#[tokio::test]
async fn a_recorded_step_is_never_executed_again() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let counted = counted.clone();
        async move {
            let mut sum = 0;
            for n in 0..100_u32 {
                let counted = counted.clone();
                sum += ctx
                    .step(key!("step", n), move || {
                        counted.fetch_add(1, Ordering::SeqCst);
                        std::future::ready(Ok(n))
                    })
                    .await?;
            }
            for n in 0..3 {
                ctx.gate(key!("gate", n), GateRequest::new("Go on?")).await?;
            }
            Ok(sum)
        }
    };
    let workflows = Workflows::new().with("sum@1", workflow);
    let mut house = House::with(workflows.clone()).await;
    let id = house.start("sum@1", &()).await;
    for _ in 0..3 {
        house.parked(&id).await;
        house.restart(workflows.clone()).await;
        house.approve(&id).await;
    }
    assert_eq!(house.outcome(&id).await.unwrap(), 4950);
    assert_eq!(count.load(Ordering::SeqCst), 100);
}

#[tokio::test]
async fn a_sleep_goes_on_while_nobody_is_there() {
    async fn sleeps(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.sleep("long", Duration::from_secs(3600)).await
    }
    let mut house = House::with(Workflows::new().with("sleeps@1", sleeps)).await;
    let id = house.start("sleeps@1", &()).await;
    let run = house.parked(&id).await;
    let until = house.engine.waiting_at(&run).await.unwrap().until.unwrap();
    assert_eq!(until.as_micros() - run.start.started_at.as_micros(), 3_600_000_000);
    house.engine.close().await;
    house.clock.advance(Duration::from_secs(3601));
    house.restart(Workflows::new().with("sleeps@1", sleeps)).await;
    house.outcome(&id).await.unwrap();
}
