//! Workflows whose own code never waits: each is stopped and reported, and nobody else notices.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
    time::Duration,
};

use folkmoot_core::run::{RunLimits, RunStatus};
use folkmoot_engine::{Ctx, Failure, Workflows};

use super::House;
use crate::moot::alice;

/// Joins nothing, for ever, within one poll.
async fn joins(ctx: Ctx, (): ()) -> Result<(), Failure> {
    for n in 0_u64.. {
        ctx.join(format!("group/{n}"), [()], |_, ()| async { Ok(()) }).await?;
    }
    Ok(())
}

/// Wakes itself, for ever.
async fn wakes_itself(_: Ctx, (): ()) -> Result<(), Failure> {
    std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Yields for ever, while a step is in flight.
async fn yields(ctx: Ctx, (): ()) -> Result<(), Failure> {
    let step = ctx.step("slow", std::future::pending::<Result<(), Failure>>);
    let spinning = async {
        loop {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = step => done,
        () = spinning => Ok(()),
    }
}

/// Asks for the time, for ever: each answer is recorded at once.
async fn asks_the_time(ctx: Ctx, (): ()) -> Result<(), Failure> {
    for n in 0_u64.. {
        ctx.now(format!("now/{n}")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_that_only_joins_yields_or_wakes_itself_is_stopped_as_a_defect() {
    let workflows = Workflows::new().with("joins@1", joins).with("wakes@1", wakes_itself).with("yields@1", yields);
    let house = House::with(workflows).await;
    for workflow in ["joins@1", "wakes@1", "yields@1"] {
        let id = house.start(workflow, &()).await;
        let stopped = house.stopped(&id).await;
        assert!(stopped.starts_with("spins: ") && stopped.contains("defect of the workflow"), "{workflow}: {stopped}");
        house.until(&id, |_| house.engine.active_runs() == 0).await;
    }
}

#[tokio::test]
async fn calls_that_answer_at_once_are_bounded_by_the_runs_limits() {
    let house = House::with(Workflows::new().with("time@1", asks_the_time)).await;
    let id = house.start_limited("time@1", RunLimits { steps_max: 200, ..RunLimits::default() }).await;
    let failed = house.outcome(&id).await.unwrap_err();
    assert!(failed.starts_with("failed limit_exceeded"), "{failed}");
}

/// Loops within one poll until it is told to end, with a call now and then or with none at all.
fn spins(calls: bool, end: &Arc<AtomicBool>) -> Workflows {
    let end = end.clone();
    Workflows::new().with("spins@1", move |ctx: Ctx, (): ()| {
        let end = end.clone();
        async move {
            for n in 0_u64.. {
                if end.load(Ordering::SeqCst) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
                if calls {
                    ctx.join(format!("group/{n}"), [()], |_, ()| async { Ok(()) }).await?;
                }
            }
            Ok(())
        }
    })
}

/// Ends spinning threads also where a test fails.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_stops_a_workflow_that_loops_over_calls_within_one_poll() {
    let end = Ends(Arc::default());
    let house = House::with(spins(true, &end.0)).await;
    let ids = [house.start("spins@1", &()).await, house.start("spins@1", &()).await];
    for id in &ids {
        house.until(id, |run| run.status() == RunStatus::Running).await;
    }
    for id in ids {
        house.engine.cancel_run(alice().into(), id.clone(), "enough".to_owned()).await.unwrap();
    }
    let id = house.start("spins@1", &()).await;
    house.until(&id, |run| run.status() == RunStatus::Running && house.engine.active_runs() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_let_go_of_a_thread_holds_up_nobody_and_is_ended_at_its_time() {
    let end = Ends(Arc::default());
    let workflows = spins(false, &end.0)
        .with("other@1", |ctx: Ctx, (): ()| async move { ctx.step("work", || async { Ok(7) }).await });
    let house = House::with(workflows).await;
    let limits = RunLimits { active_ms_max: 60_000, ..RunLimits::default() };
    let spinning = [house.start_limited("spins@1", limits).await, house.start_limited("spins@1", limits).await];
    for id in &spinning {
        house.until(id, |run| run.status() == RunStatus::Running).await;
    }
    // Two threads are taken for good, and there are two: others work all the same.
    let other = house.start("other@1", &()).await;
    assert_eq!(house.outcome(&other).await.unwrap(), 7);
    house.clock.advance(Duration::from_secs(61));
    for id in &spinning {
        let failed = house.outcome(id).await.unwrap_err();
        assert!(failed.starts_with("failed limit_exceeded"), "{failed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_takes_ten_seconds_is_a_defect() {
    let end = Ends(Arc::default());
    let house = House::with(spins(false, &end.0)).await;
    let id = house.start("spins@1", &()).await;
    house.until(&id, |run| run.status() == RunStatus::Running).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    house.clock.advance(Duration::from_secs(11));
    let stopped = house.stopped(&id).await;
    assert!(stopped.starts_with("spins: ") && stopped.contains("does not let go of its thread"), "{stopped}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_does_not_let_go_of_a_thread_is_over_at_its_time() {
    let end = Arc::new(AtomicBool::new(false));
    let (_end, seen) = (Ends(end.clone()), end);
    let workflow = move |ctx: Ctx, (): ()| {
        let seen = seen.clone();
        async move {
            let blocks = move || {
                let seen = seen.clone();
                async move {
                    while !seen.load(Ordering::SeqCst) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Ok(())
                }
            };
            let ended = ctx.step("blocks", blocks).timeout(Duration::from_millis(50)).await;
            Ok(ended.unwrap_err().code)
        }
    };
    let house = House::with(Workflows::new().with("blocks@1", workflow)).await;
    let ids = [house.start("blocks@1", &()).await, house.start("blocks@1", &()).await];
    for id in ids {
        assert_eq!(house.outcome(&id).await.unwrap(), "timeout");
    }
}
