use folkmoot_core::{Outcome, Refusal};
use folkmoot_store::Store;
use futures_util::future::join_all;

use crate::support::*;

fn opening_with_key(by: &str, key: &str, body: &str) -> folkmoot_core::Command {
    keyed(open(agent(by), new_gate()), "POST /v1/gates", key, body)
}

pub(crate) async fn the_same_request_again_gets_the_first_outcome(store: &impl Store) {
    let first = store.execute(opening_with_key("agent-a", "k1", "body")).await;
    let gate = gate_of(first.clone());
    // What has happened to the gate since does not change what the first request came to.
    store.execute(approve(&gate.id, "alice")).await.unwrap();
    assert_eq!(store.execute(opening_with_key("agent-a", "k1", "body")).await, first);
    assert_eq!(store.head().await.unwrap().position, 2);
    assert_eq!(store.pending().await, Ok(0));
}

pub(crate) async fn another_request_under_the_same_key_is_refused(store: &impl Store) {
    gate_of(store.execute(opening_with_key("agent-a", "k1", "body")).await);
    let other = store.execute(opening_with_key("agent-a", "k1", "another body")).await;
    assert_eq!(refusal_of(other), Refusal::IdempotencyMismatch);
    assert_eq!(store.pending().await, Ok(1));
}

pub(crate) async fn keys_are_per_principal_and_route(store: &impl Store) {
    let mine = gate_of(store.execute(opening_with_key("agent-a", "k1", "body")).await);
    let theirs = gate_of(store.execute(opening_with_key("agent-b", "k1", "body")).await);
    let elsewhere = keyed(open(agent("agent-a"), new_gate()), "POST /v1/debates", "k1", "body");
    let elsewhere = gate_of(store.execute(elsewhere).await);
    assert!(mine.id != theirs.id && mine.id != elsewhere.id && theirs.id != elsewhere.id);
    // Sent together they must be told apart as well.
    let (mine, theirs) = tokio::join!(
        store.execute(opening_with_key("agent-a", "k2", "body")),
        store.execute(opening_with_key("agent-b", "k2", "body")),
    );
    assert_ne!(gate_of(mine).id, gate_of(theirs).id);
}

pub(crate) async fn refusals_are_not_remembered(store: &impl Store) {
    let new_gate = new_gate();
    let attempt = |id: &folkmoot_core::GateId| keyed(approve(id, "alice"), "POST /v1/gates/approve", "k1", "body");
    assert_eq!(refusal_of(store.execute(attempt(&new_gate.id)).await).code(), "unknown_gate");
    let id = new_gate.id.clone();
    opened(store, new_gate).await;
    gate_of(store.execute(attempt(&id)).await);
}

pub(crate) async fn keys_can_be_forgotten(world: &World<impl Place>) {
    let store = &*world.store;
    let old = gate_of(store.execute(opening_with_key("agent-a", "old", "body")).await);
    world.clock.advance(minutes(1));
    let new = gate_of(store.execute(opening_with_key("agent-a", "new", "body")).await);
    store.forget_keys(noon().plus(minutes(1))).await.unwrap();
    assert_ne!(gate_of(store.execute(opening_with_key("agent-a", "old", "other")).await).id, old.id);
    assert_eq!(gate_of(store.execute(opening_with_key("agent-a", "new", "body")).await).id, new.id);
}

pub(crate) async fn copies_that_arrive_together_are_done_once(world: &World<impl Place>) {
    let copies = (0..64).map(|n| {
        let store = world.store.clone();
        let body = if n % 8 == 7 { "another body" } else { "body" };
        tokio::spawn(async move { store.execute(opening_with_key("agent-a", "k1", body)).await })
    });
    let answers: Vec<_> = join_all(copies).await.into_iter().map(Result::unwrap).collect();
    let (done, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    // Whichever came first has won the key; with it all of its copies.
    assert!([(56, 8), (8, 56)].contains(&(done.len(), refused.len())), "{} done", done.len());
    assert!(done.iter().all(|answer| *answer == done[0]));
    for answer in refused {
        assert_eq!(refusal_of(answer), Refusal::IdempotencyMismatch);
    }
    assert_eq!(world.store.pending().await, Ok(1));
    assert_eq!(assert_sound(&*world.store).await.len(), 1);
}

pub(crate) async fn a_decision_repeated_with_its_key_is_no_conflict(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let decision = || keyed(approve(&gate.id, "alice"), "POST /v1/gates/approve", "k1", "body");
    let (first, again) = tokio::join!(biased; store.execute(decision()), store.execute(decision()));
    assert_eq!(first, again);
    assert_eq!(store.execute(decision()).await, first);
    assert!(matches!(first, Ok(Outcome::Gate(gate)) if gate.seq == 2));
    assert_eq!(store.head().await.unwrap().position, 2);
}
