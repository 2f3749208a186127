//! Steps: retries, timeouts, panics, and those that must not repeat.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    gate::{Choice, Review},
    journal::EntryState,
};
use folkmoot_engine::{Ctx, Failure, OnUncertain, Retry, Workflows};
use folkmoot_store::JournalQuery;

use super::House;
use crate::moot::alice;

/// A workflow of one step, which counts how often it is done.
fn one_step<F>(work: impl Fn(u32) -> F + Clone + Send + Sync + 'static, how: How) -> (Workflows, Arc<AtomicU32>)
where
    F: Future<Output = Result<u32, Failure>> + Send + 'static,
{
    let count = Arc::new(AtomicU32::new(0));
    let counted = count.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let (work, counted, how) = (work.clone(), counted.clone(), how.clone());
        async move {
            let step = ctx.step("work", move || work(counted.fetch_add(1, Ordering::SeqCst) + 1));
            let step = step.retry(how.retry).on_uncertain(how.on_uncertain).timeout(how.timeout);
            if how.once { step.once().await } else { step.await }
        }
    };
    (Workflows::new().with("one@1", workflow), count)
}

#[derive(Clone)]
struct How {
    retry: Retry,
    on_uncertain: OnUncertain,
    timeout: Duration,
    once: bool,
}

impl Default for How {
    fn default() -> Self {
        Self { retry: Retry::default(), on_uncertain: OnUncertain::Ask, timeout: Duration::from_secs(60), once: false }
    }
}

fn quickly(attempts: u32) -> Retry {
    Retry { backoff: Duration::from_millis(1), ..Retry::times(attempts) }
}

#[tokio::test]
async fn only_errors_that_are_worth_it_are_tried_again() {
    let retry = Retry { codes: vec!["busy".to_owned()], ..quickly(5) };
    let fails = |n| async move { Err(Failure::new(if n < 3 { "busy" } else { "broken" }, format!("attempt {n}"))) };
    let (workflows, count) = one_step(fails, How { retry, ..How::default() });
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    // The clock of a simulation stands: time passes when it is moved.
    let moved = house.clock.clone();
    let mover = tokio::spawn(async move {
        loop {
            moved.advance(Duration::from_millis(10));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!(house.outcome(&id).await.unwrap_err(), "failed broken: attempt 3");
    assert_eq!(count.load(Ordering::SeqCst), 3);
    mover.abort();
}

#[tokio::test]
async fn a_long_pause_between_attempts_is_waited_for_by_nobody() {
    let retry = Retry { backoff: Duration::from_secs(3600), ..Retry::times(2) };
    let fails_once = |n| async move { if n == 1 { Err(Failure::new("busy", "later")) } else { Ok(n) } };
    let (workflows, count) = one_step(fails_once, How { retry, ..How::default() });
    let mut house = House::with(workflows.clone()).await;
    let id = house.start("one@1", &()).await;
    house.parked(&id).await;
    assert_eq!(house.engine.active_runs(), 0);
    house.restart(workflows).await;
    house.clock.advance(Duration::from_secs(3601));
    assert_eq!(house.outcome(&id).await.unwrap(), 2);
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_step_that_takes_too_long_has_failed() {
    let never = |_| std::future::pending();
    let how = How { timeout: Duration::from_millis(20), ..How::default() };
    let (workflows, count) = one_step(never, how);
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    assert_eq!(house.outcome(&id).await.unwrap_err(), "failed timeout: the step took longer than it may");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_step_that_panics_has_failed_and_its_node_goes_on() {
    let (workflows, _) = one_step(|n| async move { panic!("attempt {n}") }, How::default());
    let house = House::with(workflows).await;
    for attempt in 1..=2 {
        let id = house.start("one@1", &()).await;
        let says = format!("failed panicked: it panicked: attempt {attempt}");
        assert_eq!(house.outcome(&id).await.unwrap_err(), says);
    }
}

#[tokio::test]
async fn a_once_step_whose_time_was_over_asks_and_is_done_again_only_if_a_person_says_so() {
    let how = How { timeout: Duration::from_millis(20), once: true, ..How::default() };
    let slow_once = |n| async move {
        if n == 1 {
            std::future::pending::<()>().await;
        }
        Ok(n)
    };
    let (workflows, count) = one_step(slow_once, how);
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    let gate = house.gate(&id).await;
    assert_eq!(gate.content.title, "Was work done?");
    house.parked(&id).await;
    assert_eq!(count.load(Ordering::SeqCst), 1, "it is not done again by itself");
    house.approve(&id).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 2);
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_person_can_say_what_a_once_step_gave_or_that_it_fails() {
    for (choice, edited, outcome) in [
        (Choice::Adjust, Some("41"), Ok(41)),
        (
            Choice::Reject,
            None,
            Err("failed uncertain: nobody knows whether step work was done, and a gate was rejected by alice"),
        ),
    ] {
        let how = How { timeout: Duration::from_millis(20), once: true, ..How::default() };
        let (workflows, count) = one_step(|_| std::future::pending(), how);
        let house = House::with(workflows).await;
        let id = house.start("one@1", &()).await;
        let gate = house.gate(&id).await;
        let review = Review { edited: edited.map(str::to_owned), ..Review::on(&gate, choice, "I looked") };
        house.engine.decide(alice().into(), review).await.unwrap();
        let expected = outcome.map(serde_json::Value::from).map_err(str::to_owned);
        assert_eq!(house.outcome(&id).await, expected);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn what_a_person_says_that_is_no_result_is_asked_again() {
    let how = How { timeout: Duration::from_millis(20), once: true, ..How::default() };
    let (workflows, _) = one_step(|_| std::future::pending(), how);
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    let first = house.gate(&id).await;
    let said = Review { edited: Some("it was done, I think".to_owned()), ..Review::on(&first, Choice::Adjust, "") };
    house.engine.decide(alice().into(), said).await.unwrap();
    let second = house.gate(&id).await;
    assert_ne!(first.id, second.id);
    let said = Review { edited: Some("5".to_owned()), ..Review::on(&second, Choice::Adjust, "") };
    house.engine.decide(alice().into(), said).await.unwrap();
    assert_eq!(house.outcome(&id).await.unwrap(), 5);
}

#[tokio::test]
async fn an_uncertain_step_does_what_its_policy_says() {
    let slow_once = |n| async move {
        if n == 1 {
            std::future::pending::<()>().await;
        }
        Ok(n)
    };
    let how = How { timeout: Duration::from_millis(20), once: true, ..How::default() };
    let (workflows, _) = one_step(slow_once, How { on_uncertain: OnUncertain::Retry, ..how.clone() });
    let house = House::with(workflows).await;
    assert_eq!(house.outcome(&house.start("one@1", &()).await).await.unwrap(), 2);
    let (workflows, count) = one_step(slow_once, How { on_uncertain: OnUncertain::Fail, ..how });
    let house = House::with(workflows).await;
    let failed = house.outcome(&house.start("one@1", &()).await).await.unwrap_err();
    assert!(failed.starts_with("failed uncertain"), "{failed}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_journal_tells_how_often_and_how_long() {
    let fails_once = |n| async move { if n == 1 { Err(Failure::new("busy", "later")) } else { Ok(n) } };
    let retry = Retry { backoff: Duration::ZERO, ..Retry::times(2) };
    let (workflows, _) = one_step(fails_once, How { retry, once: true, ..How::default() });
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    assert_eq!(house.outcome(&id).await.unwrap(), 2);
    let query = JournalQuery { run: id, after: None, limit: 10, key: None, results: true };
    let journal = house.engine.journal(&alice(), query).await.unwrap();
    let [line] = journal.as_slice() else { panic!("{journal:?}") };
    assert_eq!((line.entry.attempts, line.result.as_deref()), (2, Some("2")));
    assert!(matches!(line.entry.state, EntryState::Done { .. }));
}

#[tokio::test]
async fn a_step_that_waits_for_its_next_attempt_is_not_in_flight() {
    let retry = Retry { backoff: Duration::from_millis(900), ..Retry::times(2) };
    let fails_once = |n| async move { if n == 1 { Err(Failure::new("busy", "later")) } else { Ok(n) } };
    let (workflows, _) = one_step(fails_once, How { retry, ..How::default() });
    let house = House::with(workflows).await;
    let id = house.start("one@1", &()).await;
    house.until(&id, |run| run.steps == 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(house.engine.steps_in_flight(), Vec::new());
}

#[tokio::test]
async fn a_step_that_uses_the_ctx_fails_at_once() {
    // With all its turns taken by such steps a node would wait for itself.
    let workflow = |ctx: Ctx, (): ()| async move {
        let inner = ctx.clone();
        let outer = ctx.step("outer", move || {
            let inner = inner.clone();
            async move { inner.step("inner", || async { Ok(1_u32) }).await }
        });
        outer.await
    };
    let house = House::with(Workflows::new().with("nested@1", workflow)).await;
    let failed = house.outcome(&house.start("nested@1", &()).await).await.unwrap_err();
    assert!(failed.starts_with("failed panicked: it panicked: step \"inner\" is called outside"), "{failed}");
}
