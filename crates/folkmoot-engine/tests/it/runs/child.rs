//! Runs that a run starts.

use std::time::Duration;

use folkmoot_core::run::{NewRun, RunLimits};
use folkmoot_engine::{Ctx, Failure, GateSpec, Workflows};

use super::House;
use crate::moot::{agent, alice};

async fn child(ctx: Ctx, n: u32) -> Result<u32, Failure> {
    match n {
        0 => Err(Failure::new("zero", "nothing to double")),
        n => {
            let decided = ctx.gate("double", GateSpec::new(format!("Double {n}?"))).await?;
            Ok(if decided.may_proceed() { n * 2 } else { n })
        }
    }
}

async fn parent(ctx: Ctx, numbers: Vec<u32>) -> Result<Vec<u32>, Failure> {
    ctx.join("each", numbers, |ctx, n| async move { ctx.child("child", "double@1", &n).await }).await
}

fn workflows() -> Workflows {
    Workflows::new().with("double@1", child).with("all@1", parent)
}

#[tokio::test]
async fn a_run_waits_for_what_it_starts_across_restarts() {
    let mut house = House::with(workflows()).await;
    let id = house.start("all@1", &[1, 2, 3]).await;
    let run = house.parked(&id).await;
    let children = house.engine.waiting_at(&run).await.unwrap().runs;
    assert_eq!(children.len(), 3);
    for child in &children {
        assert_eq!(child.start.parent.as_ref(), Some(&id));
        assert_eq!((&child.start.session_id, &child.start.initiator), (&run.start.session_id, &run.start.initiator));
    }
    house.restart(workflows()).await;
    for child in &children {
        house.approve(&child.start.id).await;
    }
    assert_eq!(house.outcome(&id).await.unwrap(), serde_json::json!([2, 4, 6]));
}

#[tokio::test]
async fn what_a_child_fails_with_is_its_parents() {
    let house = House::with(workflows()).await;
    let id = house.start("all@1", &[0]).await;
    assert_eq!(house.outcome(&id).await.unwrap_err(), "failed zero: nothing to double");
}

#[tokio::test]
async fn what_a_run_starts_ends_with_it() {
    let house = House::with(workflows()).await;
    let id = house.start("all@1", &[1, 2]).await;
    let run = house.parked(&id).await;
    let children = house.engine.waiting_at(&run).await.unwrap().runs;
    for child in &children {
        house.parked(&child.start.id).await;
    }
    house.engine.cancel_run(alice().into(), id, "enough".to_owned()).await.unwrap();
    for child in children {
        let ended = house.outcome(&child.start.id).await.unwrap_err();
        assert_eq!(ended, "cancelled : the run that started it is over");
        assert_eq!(house.engine.waiting_at(&house.run(&child.start.id).await).await.unwrap().gates, Vec::new());
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(house.engine.active_runs(), 0);
}

#[tokio::test]
async fn a_run_can_be_started_under_the_longest_key_by_the_one_with_the_longest_id() {
    async fn starts(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.child("k".repeat(256), "nothing@1", &()).await
    }
    async fn nothing(_: Ctx, (): ()) -> Result<(), Failure> {
        Ok(())
    }
    let house = House::with(Workflows::new().with("starts@1", starts).with("nothing@1", nothing)).await;
    let new_run = NewRun {
        id: "r".repeat(128).parse().unwrap(),
        workflow: Some("starts@1".parse().unwrap()),
        title: String::new(),
        session_id: None,
        input: None,
        limits: RunLimits::default(),
    };
    let run = house.engine.start_run(agent().into(), new_run).await.unwrap();
    house.outcome(&run.start.id).await.unwrap();
}
