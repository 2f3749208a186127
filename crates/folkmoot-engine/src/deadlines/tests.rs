//! Whoever sets a deadline is not slept through, in whatever order setting and looking take their
//! turns.

use std::sync::{Arc, Mutex, atomic::Ordering};

use folkmoot_core::{Deadline, Timestamp};
use shuttle::{future::block_on, thread};

use super::Deadlines;
use crate::lock::{lock, shuttled::in_any_order};

/// The store's timers.
type Timers = Arc<Mutex<Vec<i64>>>;

#[test]
fn no_order_of_events_sleeps_through_a_deadline() {
    in_any_order(|| play(|deadlines, timers| deadlines.arm(next(timers))));
}

/// That the above can fail at all: what was set between the look and the arming goes unseen.
#[test]
#[should_panic(expected = "deadlock")]
fn whoever_only_trusts_the_store_sleeps_through_one_in_some_order() {
    in_any_order(|| {
        play(|deadlines, timers| {
            let next = next(timers).map_or(i64::MAX, Timestamp::as_micros);
            deadlines.armed_micros.store(next, Ordering::SeqCst);
            next
        });
    });
}

fn next(timers: &Timers) -> Option<Timestamp> {
    lock(timers).iter().min().map(|micros| Timestamp::from_micros(*micros))
}

/// Two set a deadline each, as a commit does: first in the store, then here. One waits until it
/// knows of the first.
fn play(arm: fn(&Deadlines, &Timers) -> i64) {
    let (deadlines, timers) = (Arc::new(Deadlines::default()), Timers::default());
    let mut tasks = Vec::new();
    for micros in [500, 300] {
        let (deadlines, timers) = (deadlines.clone(), timers.clone());
        tasks.push(thread::spawn(move || {
            lock(&timers).push(micros);
            deadlines.consider(Deadline::At(Timestamp::from_micros(micros)));
        }));
    }
    tasks.push(thread::spawn(move || {
        block_on(async {
            // As `watch` does, but that it never looks again by itself.
            loop {
                deadlines.disarm();
                if arm(&deadlines, &timers) <= 300 {
                    return;
                }
                deadlines.sooner.notified().await;
            }
        });
    }));
    tasks.into_iter().for_each(|task| task.join().expect("no panic"));
}
