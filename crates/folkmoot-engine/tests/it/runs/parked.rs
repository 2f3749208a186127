//! Waiting costs nothing but rows.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::gate::{Choice, Next, OnTimeout, Review};
use folkmoot_engine::{Ctx, GateSpec, Workflows};
use futures_util::future::join_all;

use super::House;
use crate::moot::alice;

const RUNS: usize = 300;

#[tokio::test]
async fn parked_runs_hold_nothing_and_each_is_woken_once() {
    let passes = Arc::new(AtomicU32::new(0));
    let counted = passes.clone();
    let workflow = move |ctx: Ctx, n: u32| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let decided = ctx.gate("go", GateSpec::new(format!("Go on with {n}?"))).await?;
            Ok((n, decided.may_proceed()))
        }
    };
    let house = House::with(Workflows::new().with("gated@1", workflow)).await;
    let numbers: Vec<usize> = (0..RUNS).collect();
    let runs = join_all(numbers.iter().map(|n| house.start("gated@1", n))).await;
    for id in &runs {
        house.parked(id).await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(house.engine.active_runs(), 0);
    assert_eq!(passes.load(Ordering::SeqCst), RUNS as u32);
    let gates = join_all(runs.iter().map(|id| house.gate(id))).await;
    let decided = gates.iter().map(|gate| {
        let choice = if gate.content.title.ends_with("7?") { Choice::Reject } else { Choice::Approve };
        house.engine.decide(alice().into(), Review::on(gate, choice, "so"))
    });
    for gate in join_all(decided).await {
        gate.unwrap();
    }
    for (n, id) in runs.iter().enumerate() {
        assert_eq!(house.outcome(id).await.unwrap(), serde_json::json!([n, n % 10 != 7]));
        assert_eq!(house.run(id).await.epoch, 2, "one claim to open the gate, and one to go on");
    }
    assert_eq!(passes.load(Ordering::SeqCst), 2 * RUNS as u32, "each was woken exactly once");
}

#[tokio::test]
async fn a_decision_that_comes_while_another_branch_works_is_not_slept_through() {
    let workflow = |ctx: Ctx, (): ()| async move {
        let done = ctx.join("both", [true, false], |ctx, waits| async move {
            if waits {
                let decided = ctx.gate("go", GateSpec::new("Go on?")).await?;
                return Ok(decided.may_proceed());
            }
            let work = ctx.step("work", || async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(true)
            });
            work.await
        });
        done.await
    };
    let house = House::with(Workflows::new().with("both@1", workflow)).await;
    let id = house.start("both@1", &()).await;
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!([true, true]));
    assert_eq!(house.run(&id).await.epoch, 1, "it never had to be parked");
}

#[tokio::test]
async fn a_timeout_that_means_retry_opens_three_more_gates() {
    let workflow = |ctx: Ctx, (): ()| async move {
        let request = GateSpec::new("Go on?").timeout(Duration::from_secs(60)).on_timeout(OnTimeout::Retry);
        Ok(ctx.gate("go", request).await?.decision.outcome == Next::Retry)
    };
    let house = House::with(Workflows::new().with("gated@1", workflow)).await;
    let id = house.start("gated@1", &()).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        house.parked(&id).await;
        let gate = house.gate(&id).await;
        assert!(!seen.contains(&gate.id));
        seen.push(gate.id);
        house.clock.advance(Duration::from_secs(61));
        house.engine.fire_due().await.unwrap();
        let epoch = seen.len() as u64;
        house.until(&id, |run| run.epoch > epoch).await;
    }
    assert_eq!(house.outcome(&id).await.unwrap(), true, "the fourth was the last");
}
