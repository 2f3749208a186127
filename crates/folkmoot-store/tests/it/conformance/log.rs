use std::time::Duration;

use folkmoot_core::{Digest, Head, gate::GateEvent};
use folkmoot_store::Store;
use futures_util::future::join_all;

use crate::support::*;

pub(crate) async fn positions_are_dense_and_the_chain_ends_at_the_head(store: &impl Store) {
    assert_eq!(store.head().await, Ok(Head { position: 0, hash: Digest::ZERO }));
    assert_eq!(store.events(0, 10).await, Ok(Vec::new()));
    let gate = an_open_gate(store).await;
    store.execute(approve(&gate.id, "alice")).await.unwrap();
    store.execute(reject(&gate.id, "bob")).await.unwrap_err();
    let events = assert_sound(store).await;
    let last = events.last().unwrap();
    assert_eq!(store.head().await, Ok(Head { position: 3, hash: last.hash }));
    let kinds: Vec<_> = events.iter().map(|event| event.fact.kind.as_ref()).collect();
    assert_eq!(kinds, ["gate.opened", "gate.decided", "gate.refused"]);
}

pub(crate) async fn an_event_carries_all_that_was_said(store: &impl Store) {
    let mut new_gate = new_gate();
    new_gate.on_behalf_of = Some(name("helper"));
    new_gate.session_id = Some("session-9".parse().unwrap());
    let command = open(agent("agent-a"), new_gate);
    let command_id = command.id.clone();
    let gate = gate_of(store.execute(command).await);
    let event = all_events(store).await.pop().unwrap();
    assert_eq!(GateEvent::read(&event.fact).unwrap(), GateEvent::Opened(Box::new(gate.clone())));
    assert_eq!((event.position, event.fact.stream_seq, event.fact.version), (1, 1, 1));
    assert_eq!((event.fact.stream.as_ref(), event.fact.actor.as_str()), (gate.id.as_str(), "agent-a"));
    assert_eq!((event.fact.on_behalf_of, event.fact.session), (Some(name("helper")), gate.session_id));
    assert_eq!((event.fact.command_id, event.fact.at, event.prev_hash), (command_id, noon(), Digest::ZERO));
    // Whoever follows gets the same, bit for bit.
    let (read, followed) = (store.events(0, 1).await.unwrap(), store.follow(0).await.unwrap());
    assert_eq!(read[0], *followed[0]);
}

pub(crate) async fn every_row_is_the_fold_of_its_events_after_a_storm(world: &World<impl Place>) {
    let answers = storm(&world.store, &world.clock, 42, 32, 100).await;
    println!("{answers:?}");
    for expected in [
        "pending",
        "approved",
        "rejected",
        "cancelled",
        "timed_out",
        "existing",
        "token",
        "gate_decided",
        "gate_overdue",
        "dedupe_conflict",
        "role_may_not",
        "already_voted",
        "not_your_run",
    ] {
        assert!(answers.contains_key(expected), "no {expected} in {answers:?}");
    }
    let events = assert_sound(&*world.store).await;
    assert!(events.len() > 1500, "only {} events", events.len());
    let pending = world.place.sql("SELECT count(*) FROM gates WHERE status = 'pending'").await;
    assert_eq!(pending[0][0], world.store.pending().await.unwrap().to_string());
    // Exactly the pending gates have a timer, and the timer is their deadline.
    let astray = "SELECT count(*) FROM gates LEFT JOIN timers ON subject = id
                  WHERE (status = 'pending') <> (subject IS NOT NULL) OR due <> deadline";
    assert_eq!(world.place.sql(astray).await, [["0"]]);
    let lost = "SELECT count(*) FROM timers WHERE subject NOT IN (SELECT id FROM gates)";
    assert_eq!(world.place.sql(lost).await, [["0"]]);
}

pub(crate) async fn a_follower_gets_every_event_once_while_many_write(world: &World<impl Place>) {
    let gates = 600;
    let followers: Vec<_> = (0..4)
        .map(|_| {
            let store = world.store.clone();
            tokio::spawn(async move { follow_until(&*store, 0, gates).await })
        })
        .collect();
    let writers = (0..gates).map(|_| {
        let store = world.store.clone();
        tokio::spawn(async move { an_open_gate(&*store).await })
    });
    join_all(writers).await.into_iter().for_each(|written| drop(written.unwrap()));
    let log = assert_sound(&*world.store).await;
    for follower in followers {
        let followed: Vec<_> = follower.await.unwrap().iter().map(|event| event.as_ref().clone()).collect();
        assert_eq!(followed, log);
    }
}

pub(crate) async fn a_follower_that_starts_late_misses_nothing(mut world: World<impl Place>) {
    let mut written = 0;
    let mut write = async |world: &World<_>, n: u64| {
        join_all((0..n).map(|_| an_open_gate(world.store()))).await;
        written += n;
        written
    };
    // More than a follower reads at once, none of it in memory after the restart, and then some
    // that is.
    write(&world, 2100).await;
    world = world.reopened().await;
    let last = write(&world, 300).await;
    for after in [0, 1, 999, 1000, 2099, 2100, 2101, last - 1] {
        let positions: Vec<_> =
            follow_until(world.store(), after, last).await.iter().map(|event| event.position).collect();
        assert_eq!(positions, (after + 1..=last).collect::<Vec<_>>(), "after {after}");
    }
}

pub(crate) async fn a_follower_waits_for_what_is_not_there_yet(world: &World<impl Place>) {
    an_open_gate(&*world.store).await;
    let nothing = tokio::time::timeout(Duration::from_millis(50), world.store.follow(1)).await;
    assert!(nothing.is_err(), "followed {nothing:?}");
    let store = world.store.clone();
    let waiting = tokio::spawn(async move { store.follow(1).await });
    an_open_gate(&*world.store).await;
    let followed = waiting.await.unwrap().unwrap();
    assert_eq!(followed.iter().map(|event| event.position).collect::<Vec<_>>(), [2]);
}

pub(crate) async fn a_page_of_the_log_is_as_long_as_asked(store: &impl Store) {
    join_all((0..5).map(|_| an_open_gate(store))).await;
    let positions = async |after, limit| {
        let events = store.events(after, limit).await.unwrap();
        events.into_iter().map(|event| event.position).collect::<Vec<_>>()
    };
    assert_eq!(positions(0, 2).await, [1, 2]);
    assert_eq!(positions(2, 2).await, [3, 4]);
    assert_eq!(positions(4, u32::MAX).await, [5]);
    assert_eq!(positions(5, 2).await, [0; 0]);
    assert_eq!(positions(u64::MAX, 2).await, [0; 0]);
}
