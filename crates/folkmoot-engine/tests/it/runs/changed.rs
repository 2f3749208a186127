//! A run whose code is not what it was when it started.

use folkmoot_engine::{Ctx, Failure, GateSpec, Workflows};

use super::{House, refusal};
use crate::moot::{agent, alice};

async fn first(ctx: Ctx, (): ()) -> Result<u32, Failure> {
    let one: u32 = ctx.step("one", || async { Ok(1) }).input(&"a").await?;
    ctx.gate("go", GateSpec::new("Go on?")).await?;
    let two: u32 = ctx.step("two", || async { Ok(2) }).await?;
    Ok(one + two)
}

async fn other_order(ctx: Ctx, (): ()) -> Result<u32, Failure> {
    ctx.gate("go", GateSpec::new("Go on?")).await?;
    ctx.step("one", || async { Ok(1) }).input(&"a").await
}

async fn other_kind(ctx: Ctx, (): ()) -> Result<u32, Failure> {
    let one: u32 = ctx.step("one", || async { Ok(1) }).input(&"a").once().await?;
    ctx.gate("go", GateSpec::new("Go on?")).await?;
    Ok(one)
}

async fn other_input(ctx: Ctx, (): ()) -> Result<u32, Failure> {
    let one: u32 = ctx.step("one", || async { Ok(1) }).input(&"b").await?;
    ctx.gate("go", GateSpec::new("Go on?")).await?;
    Ok(one)
}

async fn other_gate(ctx: Ctx, (): ()) -> Result<u32, Failure> {
    let one: u32 = ctx.step("one", || async { Ok(1) }).input(&"a").await?;
    ctx.gate("go", GateSpec::new("Pay a million?")).await?;
    Ok(one)
}

#[tokio::test]
async fn a_run_whose_code_changed_stops_and_goes_on_with_the_code_that_started_it() {
    for (code, says) in [
        (Workflows::new().with("count@1", other_order), "step \"go\" was call 2 of its branch and is now call 1"),
        (Workflows::new().with("count@1", other_kind), "step \"one\" was a step and is now a once"),
        (Workflows::new().with("count@1", other_input), "step \"one\" was given something else"),
        (Workflows::new().with("count@1", other_gate), "step \"go\" was given something else"),
    ] {
        let mut house = House::with(Workflows::new().with("count@1", first)).await;
        let id = house.start("count@1", &()).await;
        house.parked(&id).await;
        house.restart(code).await;
        house.approve(&id).await;
        let stopped = house.stopped(&id).await;
        assert!(stopped.starts_with("workflow_changed: this run was started by another version"), "{stopped}");
        assert!(stopped.contains(says), "{stopped}");
        house.restart(Workflows::new().with("count@1", first)).await;
        assert_eq!(house.run(&id).await.status().word(), "stopped", "nobody goes on with it by itself");
        house.engine.resume_run(agent().into(), id.clone()).await.unwrap();
        assert_eq!(house.outcome(&id).await.unwrap(), 3);
        assert_eq!(refusal(house.engine.resume_run(agent().into(), id).await), "run_ended");
    }
}

#[tokio::test]
async fn a_new_version_leaves_the_runs_of_the_old_one_alone() {
    let mut house = House::with(Workflows::new().with("count@1", first)).await;
    let old = house.start("count@1", &()).await;
    house.parked(&old).await;
    house.restart(Workflows::new().with("count@1", first).with("count@2", other_order)).await;
    let new = house.start("count@2", &()).await;
    house.approve(&old).await;
    house.approve(&new).await;
    assert_eq!(house.outcome(&old).await.unwrap(), 3);
    assert_eq!(house.outcome(&new).await.unwrap(), 1);
}

#[tokio::test]
async fn a_workflow_that_nobody_knows_is_not_started_and_one_that_is_gone_waits() {
    let mut house = House::with(Workflows::new().with("count@1", first)).await;
    assert_eq!(refusal(house.engine.start_workflow(agent(), "count@2", &()).await), "invalid");
    assert_eq!(refusal(house.engine.start_workflow(agent(), "Count", &()).await), "invalid");
    let id = house.start("count@1", &()).await;
    house.parked(&id).await;
    house.restart(Workflows::new().with("other@1", other_order)).await;
    house.approve(&id).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert_eq!(house.run(&id).await.status().word(), "parked", "nobody here can go on with it");
    house.restart(Workflows::new().with("count@1", first)).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 3);
}

#[tokio::test]
async fn a_key_can_be_used_once_in_a_pass() {
    async fn twice(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        let one: u32 = ctx.step("one", || async { Ok(1) }).await?;
        let two: u32 = ctx.step("one", || async { Ok(2) }).await?;
        Ok(one + two)
    }
    async fn two_joins(ctx: Ctx, (): ()) -> Result<Vec<u32>, Failure> {
        ctx.join("all", [1], |_, n| async move { Ok(n) }).await?;
        ctx.join("all", [1], |_, n| async move { Ok(n) }).await
    }
    let house = House::with(Workflows::new().with("twice@1", twice).with("joins@1", two_joins)).await;
    for workflow in ["twice@1", "joins@1"] {
        let id = house.start(workflow, &()).await;
        assert!(house.stopped(&id).await.starts_with("key_used_twice"));
    }
}

#[tokio::test]
async fn a_workflow_that_waits_for_what_no_replay_could_find_stops() {
    async fn stuck(_: Ctx, (): ()) -> Result<(), Failure> {
        std::future::pending().await
    }
    async fn panics(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        let one: u32 = ctx.step("one", || async { Ok(1) }).await?;
        assert_eq!(one, 2, "a bug of the workflow");
        Ok(one)
    }
    let mut house = House::with(Workflows::new().with("stuck@1", stuck).with("panics@1", panics)).await;
    let id = house.start("stuck@1", &()).await;
    assert!(house.stopped(&id).await.starts_with("stuck: its workflow waits for something that is none of the Ctx's"));
    let id = house.start("panics@1", &()).await;
    let stopped = house.stopped(&id).await;
    assert!(stopped.starts_with("panicked") && stopped.contains("a bug of the workflow"), "{stopped}");
    async fn mended(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("one", || async { Ok(7) }).await
    }
    house.restart(Workflows::new().with("stuck@1", stuck).with("panics@1", mended)).await;
    house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), 1, "what was recorded stands");
}
