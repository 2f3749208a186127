//! Steps that wait for somebody outside: the run is parked, says for whom, and goes on by itself or
//! when it is resumed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::run::RunState;
use folkmoot_engine::{Ctx, Failure, Hindrance, Workflows};

use super::{House, refusal};
use crate::moot::alice;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Asks a provider that is away for so many calls; `asked` counts them.
fn workflows(away: u32, asked: &Arc<AtomicU32>) -> Workflows {
    let asked = asked.clone();
    Workflows::new().with("asks@1", move |ctx: Ctx, (): ()| {
        let asked = asked.clone();
        async move {
            ctx.step("ask", move || {
                let number = asked.fetch_add(1, Ordering::SeqCst) + 1;
                async move {
                    if number > away {
                        return Ok(number);
                    }
                    let hindrance =
                        Hindrance::Outage { provider: "local".to_owned(), retry_after: None, wait_max: DAY };
                    Err(Failure::new("unreachable", "nobody answers").hindered_by(hindrance))
                }
            })
            .await
        }
    })
}

#[tokio::test]
async fn a_run_whose_provider_is_away_parks_and_goes_on_by_itself() {
    let asked = Arc::new(AtomicU32::new(0));
    let house = House::with(workflows(2, &asked)).await;
    let id = house.start("asks@1", &()).await;
    let run = house.parked(&id).await;
    let [outage] = run.outages() else { panic!("{run:?}") };
    assert_eq!((outage.provider.as_str(), outage.reason.as_str()), ("local", "nobody answers"));
    assert_eq!(outage.retry_at.since(house.engine.now()), Duration::from_secs(5));
    assert_eq!((house.engine.active_runs(), house.engine.steps_in_flight().len()), (0, 0), "it holds no task");
    let active = run.active(house.engine.now());
    house.clock.advance(Duration::from_secs(5));
    let run = house.until(&id, |run| run.epoch == 2 && matches!(run.state, RunState::Parked(_))).await;
    assert_eq!(run.outages()[0].retry_at.since(house.engine.now()), Duration::from_secs(10), "twice as long");
    assert_eq!(run.active(house.engine.now()), active, "its clock stands still");
    house.clock.advance(Duration::from_secs(10));
    assert_eq!(house.outcome(&id).await.unwrap(), 3);
}

#[tokio::test]
async fn whoever_resumes_a_run_that_waits_for_a_provider_has_it_tried_at_once() {
    let asked = Arc::new(AtomicU32::new(0));
    let house = House::with(workflows(1, &asked)).await;
    let id = house.start("asks@1", &()).await;
    house.parked(&id).await;
    house.clock.advance(Duration::from_secs(1));
    house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), 2);
    // A run that waits for a decision is not resumed so.
    let sleeps = |ctx: Ctx, (): ()| async move { ctx.sleep("long", DAY).await };
    let house = House::with(Workflows::new().with("sleeps@1", sleeps)).await;
    let id = house.start("sleeps@1", &()).await;
    house.parked(&id).await;
    assert_eq!(refusal(house.engine.resume_run(alice().into(), id).await), "run_waits");
}

#[tokio::test]
async fn a_provider_that_stays_away_for_a_day_stops_the_run_and_it_can_be_resumed() {
    let asked = Arc::new(AtomicU32::new(0));
    let mut house = House::with(workflows(u32::MAX, &asked)).await;
    let id = house.start("asks@1", &()).await;
    house.parked(&id).await;
    // Whether it is tried in between, or no node ran all day, makes no difference.
    house.clock.advance(DAY);
    let stopped = house.stopped(&id).await;
    assert!(stopped.starts_with("provider_away: provider local gave no answer"), "{stopped}");
    house.clock.advance(DAY);
    house.restart(workflows(asked.load(Ordering::SeqCst) + 1, &asked)).await;
    house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
    let run = house.parked(&id).await;
    assert_eq!(run.outages().len(), 1, "it waits for another day");
    house.clock.advance(Duration::from_secs(300));
    house.outcome(&id).await.unwrap();
}

#[tokio::test]
async fn what_only_a_person_can_mend_stops_the_run_and_the_step_is_done_when_it_is_resumed() {
    let asked = Arc::new(AtomicU32::new(0));
    let seen = asked.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let seen = seen.clone();
        async move {
            ctx.step("ask", move || {
                let number = seen.fetch_add(1, Ordering::SeqCst) + 1;
                async move {
                    match number {
                        1 => Err(Failure::new("unauthorised", "wrong key").hindered_by(Hindrance::NeedsPerson)),
                        _ => Ok(number),
                    }
                }
            })
            .await
        }
    };
    let house = House::with(Workflows::new().with("asks@1", workflow)).await;
    let id = house.start("asks@1", &()).await;
    assert_eq!(house.stopped(&id).await, "unauthorised: wrong key");
    house.clock.advance(Duration::from_secs(1));
    house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), 2);
}

#[tokio::test]
async fn what_failed_for_good_can_be_done_again_each_time_that_the_run_is_resumed() {
    let workflow = |ctx: Ctx, (): ()| async move {
        for time in 1..=3_u32 {
            let worked = ctx.step(format!("try/{time}"), move || async move { Ok(time == 3) }).await?;
            if worked {
                return Ok(time);
            }
            ctx.stop_until_resumed(format!("stopped/{time}"), "no_luck", "try again").await?;
        }
        Err(Failure::new("no_luck", "three times"))
    };
    let house = House::with(Workflows::new().with("tries@1", workflow)).await;
    let id = house.start("tries@1", &()).await;
    for _ in 0..2 {
        assert_eq!(house.stopped(&id).await, "no_luck: try again");
        house.clock.advance(Duration::from_secs(1));
        house.engine.resume_run(alice().into(), id.clone()).await.unwrap();
        house.until(&id, |run| run.state != RunState::Pending && !matches!(run.state, RunState::Running { .. })).await;
    }
    assert_eq!(house.outcome(&id).await.unwrap(), 3);
}
