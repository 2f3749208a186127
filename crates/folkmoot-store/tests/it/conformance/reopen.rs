use folkmoot_core::Role;
use folkmoot_store::{Error, GateQuery, Store};
use futures_util::future::join_all;

use crate::support::*;

pub(crate) async fn everything_is_there_after_a_restart(world: World<impl Place>) {
    let answers = storm(&world.store, &world.clock, 7, 8, 40).await;
    assert!(answers.len() > 5, "{answers:?}");
    let store = world.store();
    store.execute(mint("token-of-old", "alice", Role::Reviewer, "s1")).await.unwrap();
    let keyed_gate = keyed(open(agent("agent-a"), new_gate()), "POST /v1/gates", "k1", "body");
    let first = store.execute(keyed_gate.clone()).await;
    let all = GateQuery { limit: 1000, ..GateQuery::default() };
    let before = (
        all_events(store).await,
        store.head().await.unwrap(),
        store.gates(all.clone()).await.unwrap(),
        store.tokens().await.unwrap(),
        store.next_due().await.unwrap(),
        store.pending().await.unwrap(),
    );
    let world = world.reopened().await;
    let store = world.store();
    let after = (
        all_events(store).await,
        store.head().await.unwrap(),
        store.gates(all).await.unwrap(),
        store.tokens().await.unwrap(),
        store.next_due().await.unwrap(),
        store.pending().await.unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(store.execute(keyed_gate).await, first);
    assert_sound(store).await;
}

pub(crate) async fn writing_goes_on_where_it_ended(world: World<impl Place>) {
    let gate = an_open_gate(world.store()).await;
    let world = world.reopened().await;
    gate_of(world.store.execute(approve(&gate.id, "alice")).await);
    let world = world.reopened().await;
    assert_eq!(refusal_of(world.store.execute(reject(&gate.id, "bob")).await).code(), "gate_decided");
    assert_eq!(assert_sound(world.store()).await.len(), 3);
}

pub(crate) async fn a_newer_schema_is_refused(world: World<impl Place>) {
    let World { store, clock, place } = world;
    drop(store);
    place.sql("INSERT INTO migrations (version, name, checksum) VALUES (99, 'from the future', 'sha256:00')").await;
    match place.open(clock).await {
        Err(Error::Schema(why)) => {
            assert!(why.contains("made by a newer") && why.contains("newer Folkmoot"), "{why}");
        }
        other => panic!("not refused: {:?}", other.map(drop)),
    }
}

pub(crate) async fn a_changed_migration_is_refused(world: World<impl Place>) {
    let World { store, clock, place } = world;
    drop(store);
    place.sql("UPDATE migrations SET checksum = 'sha256:00' WHERE version = 1").await;
    match place.open(clock).await {
        Err(Error::Schema(why)) => assert!(why.contains("migration 1") && why.contains("schema"), "{why}"),
        other => panic!("not refused: {:?}", other.map(drop)),
    }
}

/// Whatever was acknowledged, or was not, is what the next start finds.
pub(crate) async fn what_was_taken_before_closing_is_answered(world: World<impl Place>) {
    let World { store, clock, place } = world;
    let gates = {
        let store = &*store;
        join_all((0..50).map(|_| an_open_gate(store))).await
    };
    drop(store);
    let store = place.open(clock).await.unwrap();
    assert_eq!(store.pending().await, Ok(50));
    for gate in gates {
        assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
    }
}
