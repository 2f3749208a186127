//! Nobody who follows the log sleeps while it grows, in whatever order they and those who write
//! take their turns.

use std::sync::{Arc, atomic::Ordering};

use folkmoot_core::{Digest, Event, Fact, Head, Timestamp};
use shuttle::{
    Config, FailurePersistence, Runner, current,
    future::block_on,
    scheduler::{PctScheduler, RandomScheduler},
    sync::atomic::AtomicBool as Switch,
    thread,
};

use super::{EventsAfter, OfferResult, Recent};

#[test]
fn no_order_of_events_loses_one_who_follows_the_log() {
    in_any_order(|| play(|recent, position| block_on(recent.grown_past(position))));
}

/// That the above can fail at all.
#[test]
#[should_panic(expected = "deadlock")]
fn whoever_looks_before_registering_sleeps_on_in_some_order() {
    in_any_order(|| {
        play(|recent, position| {
            block_on(async {
                while recent.last() <= position {
                    recent.grown.notified().await;
                }
            });
        });
    });
}

/// Another task may be next here, where shuttle says who runs.
pub(super) fn switch() {
    if current::try_get_current_task().is_some() && !std::thread::panicking() {
        Switch::new(false).load(Ordering::SeqCst);
    }
}

/// A writer and a tailer, who hand on the same events, as on PostgreSQL; and two who follow from
/// the start.
fn play(grown_past: fn(&Recent, u64)) {
    let recent = Arc::new(Recent::starting_at(Head::START));
    let mut tasks = Vec::new();
    for batches in [vec![1..=1, 2..=3], vec![1..=2, 1..=3]] {
        let recent = recent.clone();
        tasks.push(thread::spawn(move || {
            for batch in batches {
                let events: Vec<_> = batch.map(|position| Arc::new(event(position))).collect();
                // Whoever finds a gap reads it from the table, and comes again.
                while recent.offer(&events) == OfferResult::Gap {
                    thread::yield_now();
                }
            }
        }));
    }
    for _ in 0..2 {
        let recent = recent.clone();
        tasks.push(thread::spawn(move || {
            let mut position = 0;
            while position < 3 {
                grown_past(&recent, position);
                let EventsAfter::Events(events) = recent.after(position) else { panic!("it has grown") };
                let positions: Vec<_> = events.iter().map(|event| event.position).collect();
                assert_eq!(positions, (position + 1..=positions[positions.len() - 1]).collect::<Vec<_>>());
                position = positions[positions.len() - 1];
            }
        }));
    }
    tasks.into_iter().for_each(|task| task.join().expect("no panic"));
}

/// In as many orders as `FOLKMOOT_SCHEDULES` says: half of them choose who is next at every turn,
/// half hold somebody back for long.
fn in_any_order(scene: fn()) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let half = usize::try_from(number("FOLKMOOT_SCHEDULES").unwrap_or(300) / 2).expect("a small number");
    let seed = number("FOLKMOOT_SEED").unwrap_or(7);
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::Print;
    Runner::new(PctScheduler::new_from_seed(seed, 3, half), config.clone()).run(scene);
    Runner::new(RandomScheduler::new_from_seed(seed, half), config).run(scene);
}

fn event(position: u64) -> Event {
    let fact = Fact {
        stream: "s".into(),
        stream_seq: position,
        kind: "gate.vote".into(),
        version: 1,
        actor: "alice".parse().expect("a name"),
        on_behalf_of: None,
        session: None,
        command_id: "c".parse().expect("an id"),
        at: Timestamp::from_micros(1),
        payload: String::new(),
        token_id: None,
    };
    Event { position, fact, prev_hash: Digest::ZERO, hash: Digest::ZERO }
}

/// An event with hashes of its own; `log` makes it another one.
fn chained(position: u64, log: &str) -> Arc<Event> {
    let hash = |position: u64| match position {
        0 => Head::START.hash,
        _ => Digest::of(format!("{log} {position}").as_bytes()),
    };
    Arc::new(Event { prev_hash: hash(position - 1), hash: hash(position), ..event(position) })
}

#[test]
fn events_of_another_log_are_not_taken_wherever_they_part_from_what_is_known() {
    let recent = Recent::starting_at(Head::START);
    let ours: Vec<_> = (1..=5).map(|position| chained(position, "ours")).collect();
    assert_eq!(recent.offer(&ours), OfferResult::Taken);
    assert_eq!(recent.offer(&ours[2..]), OfferResult::Taken, "what is known is skipped");
    for first in 1..=6 {
        let theirs: Vec<_> = (first..=7).map(|position| chained(position, "theirs")).collect();
        assert_eq!(recent.offer(&theirs), OfferResult::OfAnotherLog, "from {first} on");
    }
    assert_eq!(recent.offer(&[chained(8, "theirs")]), OfferResult::Gap);
    let mut epoch = recent.epoch();
    assert!(!epoch.has_changed().unwrap());
    recent.start_over(Head { position: 3, hash: chained(3, "theirs").hash });
    assert!(epoch.has_changed().unwrap());
    assert_eq!(*epoch.borrow_and_update(), 1);
    assert!(matches!(recent.after(3), EventsAfter::Nothing), "nothing of the old log is handed out");
    assert_eq!(recent.offer(&[chained(4, "theirs")]), OfferResult::Taken);
}
