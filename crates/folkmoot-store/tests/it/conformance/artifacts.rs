use folkmoot_core::Digest;
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn contents_are_found_by_digest(store: &impl Store) {
    let artifacts: Vec<(&str, &[u8])> = vec![("change.diff", b"+1 -1"), ("tests", b"all passed")];
    store.execute(open_with(agent("agent-a"), opening(), artifacts)).await.unwrap();
    let digests = [&b"all passed"[..], b"never stored", b"+1 -1", b"all passed"].map(Digest::of);
    let passed = Some(b"all passed".to_vec());
    let expected = vec![passed.clone(), None, Some(b"+1 -1".to_vec()), passed];
    assert_eq!(store.contents(digests.to_vec()).await, Ok(expected));
    assert_eq!(store.contents(Vec::new()).await, Ok(Vec::new()));
}

pub(crate) async fn the_same_content_is_stored_once(world: &World<impl Place>) {
    let copy = || world.store.execute(open_with(agent("agent-a"), opening(), vec![("a", b"same"), ("b", b"same")]));
    let (first, second) = tokio::join!(copy(), copy());
    gate_of(first);
    gate_of(second);
    gate_of(copy().await);
    // The summary is the other.
    assert_eq!(world.place.sql("SELECT count(*) FROM artifacts").await, [["2"]]);
}

pub(crate) async fn content_is_any_bytes(store: &impl Store) {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    store.execute(open_with(agent("agent-a"), opening(), vec![("bytes", &bytes), ("empty", b"")])).await.unwrap();
    let found = store.contents(vec![Digest::of(&bytes), Digest::of(b"")]).await;
    assert_eq!(found, Ok(vec![Some(bytes), Some(Vec::new())]));
}

pub(crate) async fn an_erased_content_is_nothing_and_the_chain_still_verifies(world: &World<impl Place>) {
    let gate = an_open_gate(&*world.store).await;
    world.place.sql("UPDATE artifacts SET content = NULL").await;
    assert_eq!(world.store.contents(vec![gate.content.summary]).await, Ok(vec![None]));
    let view = world.store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!((view.gate, view.summary), (gate.clone(), None));
    let refused = refusal_of(world.store.execute(retitle(&gate.id, "Without its text")).await);
    assert_eq!(refused.code(), "invalid");
    assert_sound(&*world.store).await;
}
