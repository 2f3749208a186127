//! What is the same in every pass.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::Role;
use folkmoot_engine::{Ctx, Failure, GateSpec, Workflows, key};

use super::House;
use crate::moot::{alice, principal};

async fn values(ctx: Ctx, (): ()) -> Result<(String, u64), Failure> {
    let (now, chance) = (ctx.now("now").await?, ctx.random("chance").await?);
    ctx.emit("told", "sample.told", &serde_json::json!({ "chance": chance })).await?;
    ctx.gate("go", GateSpec::new("Go on?")).await?;
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
                ctx.gate(key!("gate", n), GateSpec::new("Go on?")).await?;
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

#[tokio::test]
async fn a_long_error_is_the_same_in_every_pass() {
    async fn tells(ctx: Ctx, (): ()) -> Result<usize, Failure> {
        let fails = || async { Err::<(), _>(Failure::new("compile", "x".repeat(40_000))) };
        let Err(failure) = ctx.step("compile", fails).await else { unreachable!("it fails") };
        ctx.gate("go", GateSpec::new(format!("Go on in spite of {failure}?"))).await?;
        Ok(failure.message.len())
    }
    let mut house = House::with(Workflows::new().with("tells@1", tells)).await;
    let id = house.start("tells@1", &()).await;
    house.parked(&id).await;
    house.restart(Workflows::new().with("tells@1", tells)).await;
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 16 * 1024);
}

#[tokio::test]
async fn what_was_refused_once_is_refused_in_every_pass() {
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let counted = counted.clone();
        async move {
            let huge = move || {
                counted.fetch_add(1, Ordering::SeqCst);
                std::future::ready(Ok("x".repeat(17 << 20)))
            };
            let effect = ctx.step("effect", huge).once().await.unwrap_err();
            let told = ctx.emit("lie", "gate.decided", &"approved").await.unwrap_err();
            ctx.gate("go", GateSpec::new("Go on?")).await?;
            Ok([effect.code, told.code])
        }
    };
    let workflows = Workflows::new().with("refused@1", workflow);
    let mut house = House::with(workflows.clone()).await;
    let id = house.start("refused@1", &()).await;
    house.parked(&id).await;
    house.restart(workflows).await;
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!(["invalid", "invalid"]));
    assert_eq!(count.load(Ordering::SeqCst), 1, "it is not done again");
}

#[tokio::test]
async fn a_map_is_the_same_input_in_whichever_order_it_is_written() {
    async fn maps(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        let map: std::collections::HashMap<u32, u32> = (0..50).map(|n| (n, n)).collect();
        let one: u32 = ctx.step("one", || async { Ok(1) }).input(&map).await?;
        ctx.emit("told", "sample.told", &map).await?;
        let two: u32 = ctx.child("child", "child@1", &map).await?;
        ctx.gate("go", GateSpec::new("Go on?")).await?;
        Ok(one + two)
    }
    async fn child(_: Ctx, map: std::collections::HashMap<u32, u32>) -> Result<usize, Failure> {
        Ok(map.len())
    }
    let workflows = Workflows::new().with("maps@1", maps).with("child@1", child);
    let mut house = House::with(workflows.clone()).await;
    let id = house.start("maps@1", &()).await;
    house.gate(&id).await;
    house.parked(&id).await;
    house.restart(workflows).await;
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 51);
}

#[tokio::test]
async fn a_pause_is_over_by_the_clock_also_while_another_branch_works() {
    let workflow = |ctx: Ctx, (): ()| async move {
        let both = ctx.join("both", [true, false], |ctx, pauses| async move {
            if pauses {
                return ctx.sleep("long", Duration::from_secs(3600)).await;
            }
            let work = ctx.step("work", || async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok(())
            });
            work.await
        });
        both.await.map(|all| all.len())
    };
    let house = House::with(Workflows::new().with("both@1", workflow)).await;
    let id = house.start("both@1", &()).await;
    house.until(&id, |run| run.steps == 1).await;
    // As a machine that was suspended for a while sees it.
    house.clock.advance(Duration::from_secs(3601));
    let run = house.engine.wait_for_end(&alice(), &id, Duration::from_secs(4)).await.unwrap();
    assert!(run.ending().is_some(), "it stays {:?}", run.state);
}

#[tokio::test]
async fn what_a_workflow_tells_is_seen_by_whoever_started_it_whatever_it_says() {
    async fn tells(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.emit("told", "sample.told", &serde_json::json!({ "agent_id": "eve", "initiator": "eve" })).await
    }
    let house = House::with(Workflows::new().with("tells@1", tells)).await;
    house.outcome(&house.start("tells@1", &()).await).await.unwrap();
    for (who, sees) in [("bot", 1), ("eve", 0)] {
        let (_, events) = house.engine.events(&principal(who, Role::Agent), 0, 100, None).await.unwrap();
        let told = events.iter().filter(|event| event.fact.kind == "sample.told").count();
        assert_eq!(told, sees, "{who}");
    }
}
