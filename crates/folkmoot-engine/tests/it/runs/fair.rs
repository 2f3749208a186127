//! A node works on so much at once, and on everybody's.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{Ctx, EngineSettings, Failure, WorkerSettings, Workflows};
use folkmoot_store::{ManualClock, Sqlite};
use futures_util::future::join_all;

use super::{House, start};

#[tokio::test]
async fn a_node_works_on_a_bounded_number_of_runs_and_steps_and_all_end() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, highest) = (now.clone(), most.clone());
    let workflow = move |ctx: Ctx, (): ()| {
        let (counted, highest) = (counted.clone(), highest.clone());
        async move {
            let each = ctx.join("each", 0..5, |ctx, _| {
                let (counted, highest) = (counted.clone(), highest.clone());
                async move {
                    let work = move || {
                        let (counted, highest) = (counted.clone(), highest.clone());
                        async move {
                            highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            tokio::time::sleep(Duration::from_millis(1)).await;
                            counted.fetch_sub(1, Ordering::SeqCst);
                            Ok(())
                        }
                    };
                    ctx.step("work", work).await
                }
            });
            each.await.map(|all| all.len())
        }
    };
    let workflows = Workflows::new().with("wide@1", workflow);
    let clock = Arc::new(ManualClock::at(folkmoot_core::Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let work = WorkerSettings { runs_at_once: 4, steps_at_once: 3, ..WorkerSettings::default() };
    let engine = start(&store, EngineSettings { workflows, work, ..EngineSettings::default() }).await;
    let house = House { engine, store, clock };
    let ids = join_all((0..40).map(|_| house.start("wide@1", &()))).await;
    let watched = house.engine.clone();
    let watcher = tokio::spawn(async move {
        let mut most = 0;
        loop {
            most = most.max(watched.active_runs());
            assert!(most <= 4, "{most} runs at once");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    for id in &ids {
        assert_eq!(house.outcome(id).await.unwrap(), 5);
    }
    assert!(!watcher.is_finished(), "never more than four");
    watcher.abort();
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn runs_that_wait_keep_nobody_from_working() {
    async fn gated(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.gate("go", folkmoot_engine::GateSpec::new("Go on?")).await.map(drop)
    }
    async fn quick(ctx: Ctx, (): ()) -> Result<u32, Failure> {
        ctx.step("work", || async { Ok(1) }).await
    }
    let workflows = Workflows::new().with("gated@1", gated).with("quick@1", quick);
    let clock = Arc::new(ManualClock::at(folkmoot_core::Timestamp::from_micros(1_800_000_000_000_000)));
    let store = Sqlite::in_memory(clock.clone()).unwrap();
    let work = WorkerSettings { runs_at_once: 1, steps_at_once: 1, ..WorkerSettings::default() };
    let engine = start(&store, EngineSettings { workflows, work, ..EngineSettings::default() }).await;
    let house = House { engine, store, clock };
    for _ in 0..10 {
        house.start("gated@1", &()).await;
    }
    let id = house.start("quick@1", &()).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 1);
}
