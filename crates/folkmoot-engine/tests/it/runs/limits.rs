//! What a run may use up.

use std::time::Duration;

use folkmoot_core::run::RunLimits;
use folkmoot_engine::{Ctx, Failure, Timeout, Workflows};

use super::House;

#[tokio::test]
async fn a_run_that_has_used_up_what_it_may_fails() {
    async fn many(ctx: Ctx, (): ()) -> Result<(), Failure> {
        for n in 0.. {
            let text = ctx.step(format!("step-{n}"), || async { Ok("x".repeat(100)) }).await;
            // Nobody can catch it.
            text.ok();
        }
        Ok(())
    }
    let house = House::with(Workflows::new().with("many@1", many)).await;
    let id = house.start_limited("many@1", RunLimits { steps_max: 3, ..RunLimits::default() }).await;
    let failed = house.outcome(&id).await.unwrap_err();
    assert!(failed.starts_with("failed limit_exceeded") && failed.contains("its 3 steps"), "{failed}");
    assert_eq!(house.run(&id).await.steps, 3);
    let id = house.start_limited("many@1", RunLimits { journal_bytes_max: 1000, ..RunLimits::default() }).await;
    let failed = house.outcome(&id).await.unwrap_err();
    assert!(failed.contains("1000 bytes of journal"), "{failed}");
}

#[tokio::test]
async fn the_time_that_a_run_waits_is_not_counted() {
    async fn sleeps_and_works(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.sleep("long", Duration::from_secs(3600)).await?;
        ctx.step("never", std::future::pending::<Result<(), Failure>>).timeout(Timeout::Never).await
    }
    let house = House::with(Workflows::new().with("slow@1", sleeps_and_works)).await;
    let id = house.start_limited("slow@1", RunLimits { active_ms_max: 300, ..RunLimits::default() }).await;
    house.parked(&id).await;
    house.clock.advance(Duration::from_secs(3601));
    house.until(&id, |run| run.epoch == 2).await;
    let failed = house.outcome(&id).await.unwrap_err();
    assert!(failed.starts_with("failed limit_exceeded") && failed.contains("300 milliseconds"), "{failed}");
}
