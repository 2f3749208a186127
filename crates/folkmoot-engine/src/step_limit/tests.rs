//! Who is served when.

use std::sync::Arc;

use futures_util::{FutureExt, poll};
use shuttle::{future::block_on, thread};

use super::FairStepLimit;
use crate::lock::{
    lock,
    shuttled::{in_any_order, switch},
};

#[tokio::test]
async fn runs_are_served_in_turn_however_many_steps_each_has() {
    let step_limit = FairStepLimit::new(1);
    let (many, few) = ("many".parse().unwrap(), "few".parse().unwrap());
    let mut taken = Some(step_limit.take(&many).await);
    let mut waiting: Vec<_> = (0..100).map(|_| ("many", Box::pin(step_limit.take(&many)))).collect();
    for _ in 0..2 {
        waiting.push(("few", Box::pin(step_limit.take(&few))));
    }
    for (_, step) in &mut waiting {
        assert!(poll!(step).is_pending());
    }
    let mut served = Vec::new();
    while !waiting.is_empty() {
        drop(taken.take());
        let next = waiting.iter_mut().position(|(_, step)| {
            taken = step.now_or_never();
            taken.is_some()
        });
        served.push(waiting.remove(next.expect("a turn that is given up is given to somebody")).0);
    }
    assert_eq!(served[..6], ["many", "few", "many", "few", "many", "many"]);
    assert_eq!(served.len(), 102);
}

#[tokio::test]
async fn a_turn_that_nobody_takes_any_more_is_given_on() {
    let step_limit = FairStepLimit::new(1);
    let run = "run".parse().unwrap();
    let taken = step_limit.take(&run).await;
    let (mut gone, mut late) = (Box::pin(step_limit.take(&run)), Box::pin(step_limit.take(&run)));
    assert!(poll!(&mut gone).is_pending() && poll!(&mut late).is_pending());
    drop(gone);
    drop(taken);
    let taken = (&mut late).now_or_never().expect("it is the only one left");
    drop(taken);
    assert!(step_limit.take(&run).now_or_never().is_some(), "and nothing is lost");
}

#[test]
fn nobody_waits_while_there_is_a_turn() {
    let step_limit = FairStepLimit::new(1);
    std::thread::scope(|scope| {
        let (step_limit, run) = (&step_limit, "run".parse().unwrap());
        let steps = scope.spawn(move || (0..100_000).for_each(|_| drop(step_limit.take(&run).now_or_never())));
        let run = "other".parse().unwrap();
        while !steps.is_finished() {
            drop(step_limit.take(&run).now_or_never());
            let state = super::lock(&step_limit.0);
            assert!(state.free == 0 || state.order.is_empty(), "a turn is free, and somebody waits for one");
        }
    });
}

#[tokio::test]
async fn a_turn_is_given_on_past_any_number_who_have_gone() {
    let step_limit = FairStepLimit::new(1);
    let run = "run".parse().unwrap();
    let taken = step_limit.take(&run).await;
    for _ in 0..100_000 {
        assert!(step_limit.take(&run).now_or_never().is_none());
    }
    drop(taken);
    assert!(step_limit.take(&run).now_or_never().is_some());
}

#[test]
fn no_order_of_events_loses_a_turn_or_whoever_waits_for_one() {
    in_any_order(|| {
        let step_limit = Arc::new(FairStepLimit::new(1));
        let tasks = ["one", "one", "two", "three"].map(|run| {
            let step_limit = step_limit.clone();
            thread::spawn(move || {
                let run = run.parse().unwrap();
                if run == "three".parse().unwrap() {
                    // It gives up, perhaps just when it is given its turn.
                    let mut waiting = Box::pin(step_limit.take(&run));
                    if block_on(async { poll!(&mut waiting) }).is_pending() {
                        switch();
                    }
                    return;
                }
                let turn = block_on(step_limit.take(&run));
                switch();
                drop(turn);
            })
        });
        tasks.into_iter().for_each(|task| task.join().expect("no panic"));
        let state = lock(&step_limit.0);
        assert!(state.free == 1 && state.order.is_empty() && state.waiting.is_empty(), "{:?}", *state);
    });
}

/// That the above can fail at all.
#[test]
#[should_panic(expected = "deadlock")]
fn a_turn_that_is_given_to_nobody_is_lost_in_some_order() {
    in_any_order(|| {
        let step_limit = Arc::new(FairStepLimit::new(1));
        let tasks = ["one", "two"].map(|run| {
            let step_limit = step_limit.clone();
            thread::spawn(move || {
                let mut turn = block_on(step_limit.take(&run.parse().unwrap()));
                // Not in one go: whoever comes in between waits for a turn that is there.
                let nobody = lock(&step_limit.0).order.is_empty();
                if nobody {
                    lock(&step_limit.0).free += 1;
                    turn.0 = None;
                }
            })
        });
        tasks.into_iter().for_each(|task| task.join().expect("no panic"));
    });
}
