use folkmoot_core::{Action, Actor, Command, Digest, Gate, Outcome, Timestamp, erase::Erasing};
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

/// Erases what is kept under this text's digest.
fn erase(text: &str) -> Command {
    let erasing = Erasing { digests: vec![Digest::of(text.as_bytes())], reason: "a key was in it".to_owned() };
    command(admin("root"), Action::Erase(erasing))
}

fn retire(text: &str, decided_before: Timestamp) -> Command {
    command(Actor::System, Action::Retire { digests: vec![Digest::of(text.as_bytes())], decided_before })
}

/// What is kept under this text's digest.
async fn content(store: &impl Store, text: &str) -> Option<Vec<u8>> {
    store.contents(vec![Digest::of(text.as_bytes())]).await.unwrap().pop().flatten()
}

async fn show(store: &impl Store, text: &str) -> Gate {
    gate_of(store.execute(open_with(agent("agent-a"), opening(), vec![("note", text.as_bytes())])).await)
}

pub(crate) async fn what_an_admin_erased_is_gone_and_stays_gone(world: &World<impl Place>) {
    let store = &*world.store;
    let gate = show(store, "sk-secret").await;
    let kept = store.kept(vec![Digest::of(b"sk-secret"), Digest::of(b"never kept")]).await.unwrap();
    assert_eq!(kept.iter().map(|kept| (kept.present, kept.erasures)).collect::<Vec<_>>(), [(true, 0)]);
    assert_eq!(store.execute(erase("sk-secret")).await, Ok(Outcome::Erased(vec![Digest::of(b"sk-secret")])));
    assert_eq!(content(store, "sk-secret").await, None);
    assert_eq!(store.execute(erase("sk-secret")).await, Ok(Outcome::Erased(Vec::new())), "once is enough");
    assert_eq!(refusal_of(store.execute(erase("never kept")).await).code(), "unknown_content");
    assert_eq!(store.barred().await, Ok(vec![Digest::of(b"sk-secret")]));

    show(store, "sk-secret").await;
    world.clock.advance(minutes(3 * 24 * 60));
    show(store, "sk-secret").await;
    assert_eq!(content(store, "sk-secret").await, None, "whoever sends it again");

    let events = assert_sound(store).await;
    let erased: Vec<_> = events.iter().filter(|event| event.fact.kind == "artifact.erased").collect();
    assert_eq!(erased.len(), 1);
    assert_eq!(erased[0].fact.stream.as_ref(), format!("artifact:{}", Digest::of(b"sk-secret")));
    assert_eq!(erased[0].fact.actor, name("root"));
    assert!(!events.iter().any(|event| event.fact.payload.contains("sk-secret")));
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate, "the row is as it was");
}

pub(crate) async fn what_was_retired_is_kept_again_when_it_is_sent_again(world: &World<impl Place>) {
    let store = &*world.store;
    show(store, "old").await;
    let day = minutes(24 * 60);
    let too_early = retire("old", noon().plus(day));
    assert_eq!(store.execute(too_early).await, Ok(Outcome::Erased(Vec::new())), "it may have been sent since");
    world.clock.advance(day * 10);
    let old = vec![Digest::of(b"old")];
    let before = noon().plus(day * 2);
    assert_eq!(store.execute(retire("old", before)).await, Ok(Outcome::Erased(old.clone())));
    assert_eq!(content(store, "old").await, None);
    assert_eq!(store.retirements(&old).await.unwrap().len(), 1);
    assert_eq!(store.retirements(&[Digest::of(b"other")]).await, Ok(Vec::new()));
    show(store, "old").await;
    assert_eq!(content(store, "old").await, Some(b"old".to_vec()));
    assert_eq!(store.execute(retire("old", before)).await, Ok(Outcome::Erased(Vec::new())), "it is young again");
    let refused = command(reviewer("alice"), retire("old", before).action);
    assert_eq!(refusal_of(store.execute(refused).await).code(), "role_may_not");
    assert_sound(store).await;
}

pub(crate) async fn erasing_and_sending_act_in_turn_within_a_batch_too(world: &World<impl Place>) {
    let store = &*world.store;
    show(store, "old").await;
    world.clock.advance(minutes(24 * 60 * 10));
    let before = noon().plus(minutes(24 * 60 * 5));
    let again = || store.execute(open_with(agent("agent-a"), opening(), vec![("note", b"old")]));
    let (retired, sent) = tokio::join!(store.execute(retire("old", before)), again());
    assert_eq!(retired, Ok(Outcome::Erased(vec![Digest::of(b"old")])));
    gate_of(sent);
    assert_eq!(content(store, "old").await, Some(b"old".to_vec()), "it was sent after it was retired");
    let (sent, erased) = tokio::join!(
        store.execute(open_with(agent("agent-a"), opening(), vec![("note", b"new")])),
        store.execute(erase("new"))
    );
    gate_of(sent);
    assert_eq!(erased, Ok(Outcome::Erased(vec![Digest::of(b"new")])));
    assert_eq!(content(store, "new").await, None);
    assert_sound(store).await;
}

pub(crate) async fn what_is_not_over_needs_its_content(store: &impl Store) {
    let gate = show(store, "needed").await;
    let digest = Digest::of(b"needed");
    assert_eq!(store.needed_by(digest).await, Ok(Some(gate.id.to_string())));
    assert_eq!(store.needed_by(gate.content.summary).await, Ok(Some(gate.id.to_string())));
    assert_eq!(store.needed_by(Digest::of(b"other")).await, Ok(None));
    store.execute(approve(&gate.id, "alice")).await.unwrap();
    assert_eq!(store.needed_by(digest).await, Ok(None));
}

pub(crate) async fn an_erased_summary_is_nothing_and_must_be_sent_with_a_change(world: &World<impl Place>) {
    let gate = an_open_gate(&*world.store).await;
    let erasing = Erasing { digests: vec![gate.content.summary], reason: "a key was in it".to_owned() };
    world.store.execute(command(admin("root"), Action::Erase(erasing))).await.unwrap();
    let view = world.store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!((view.gate, view.summary), (gate.clone(), None));
    let refused = refusal_of(world.store.execute(retitle(&gate.id, "Without its text")).await);
    assert_eq!(refused.code(), "invalid");
    assert_sound(&*world.store).await;
}
