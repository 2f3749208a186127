use folkmoot_core::{
    Actor, Command, Digest, Gate, Outcome, Refusal, Timestamp,
    erase::{self, Erasure},
    gate::{self, Amendment, Choice, NewGate, Review},
    journal::Write,
    question::{NewQuestion, QuestionType},
    run::NewRun,
};
use folkmoot_store::{JournalQuery, Store};

use crate::support::*;

pub(crate) async fn contents_are_found_by_digest(store: &impl Store) {
    let artifacts: Vec<(&str, &[u8])> = vec![("change.diff", b"+1 -1"), ("tests", b"all passed")];
    store.execute(open_with(agent("agent-a"), new_gate(), artifacts)).await.unwrap();
    let digests = [&b"all passed"[..], b"never stored", b"+1 -1", b"all passed"].map(Digest::of);
    let passed = Some(b"all passed".to_vec());
    let expected = vec![passed.clone(), None, Some(b"+1 -1".to_vec()), passed];
    assert_eq!(store.contents(digests.to_vec()).await, Ok(expected));
    assert_eq!(store.contents(Vec::new()).await, Ok(Vec::new()));
}

pub(crate) async fn the_same_content_is_stored_once(world: &World<impl Place>) {
    let copy = || world.store.execute(open_with(agent("agent-a"), new_gate(), vec![("a", b"same"), ("b", b"same")]));
    let (first, second) = tokio::join!(copy(), copy());
    gate_of(first);
    gate_of(second);
    gate_of(copy().await);
    // The summary is the other.
    assert_eq!(world.place.sql("SELECT count(*) FROM artifacts").await, [["2"]]);
}

pub(crate) async fn content_is_any_bytes(store: &impl Store) {
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    store.execute(open_with(agent("agent-a"), new_gate(), vec![("bytes", &bytes), ("empty", b"")])).await.unwrap();
    let found = store.contents(vec![Digest::of(&bytes), Digest::of(b"")]).await;
    assert_eq!(found, Ok(vec![Some(bytes), Some(Vec::new())]));
}

/// Erases what is kept under this text's digest.
fn erase(text: &str) -> Command {
    let erasure = Erasure { digests: vec![Digest::of(text.as_bytes())], reason: "a key was in it".to_owned() };
    command(admin("root"), erase::Action::Erase(erasure))
}

fn retire(text: &str, decided_before: Timestamp) -> Command {
    command(Actor::System, erase::Action::Retire { digests: vec![Digest::of(text.as_bytes())], decided_before })
}

/// What is kept under this text's digest.
async fn content(store: &impl Store, text: &str) -> Option<Vec<u8>> {
    store.contents(vec![Digest::of(text.as_bytes())]).await.unwrap().pop().flatten()
}

async fn show(store: &impl Store, text: &str) -> Gate {
    gate_of(store.execute(open_with(agent("agent-a"), new_gate(), vec![("note", text.as_bytes())])).await)
}

pub(crate) async fn what_an_admin_erased_is_gone_and_stays_gone(world: &World<impl Place>) {
    let store = &*world.store;
    let gate = show(store, "sk-secret").await;
    let kept = store.content_statuses(vec![Digest::of(b"sk-secret"), Digest::of(b"never kept")]).await.unwrap();
    assert_eq!(kept.iter().map(|kept| (kept.present, kept.erasures)).collect::<Vec<_>>(), [(true, 0)]);
    assert_eq!(store.execute(erase("sk-secret")).await, Ok(Outcome::Erased(vec![Digest::of(b"sk-secret")])));
    assert_eq!(content(store, "sk-secret").await, None);
    assert_eq!(store.execute(erase("sk-secret")).await, Ok(Outcome::Erased(Vec::new())), "once is enough");
    assert_eq!(refusal_of(store.execute(erase("never kept")).await).code(), "unknown_content");
    assert_eq!(store.barred().await, Ok(vec![Digest::of(b"sk-secret")]));

    let refused = refusal_of(store.execute(open_with(agent("agent-b"), new_gate(), vec![("n", b"sk-secret")])).await);
    assert_eq!(refused, Refusal::ContentErased { digest: Digest::of(b"sk-secret") });
    world.clock.advance(minutes(3 * 24 * 60));
    assert_eq!(refusal_of(store.execute(open(agent("agent-a"), showing("sk-secret"))).await).code(), "content_erased");
    let other = gate_of(store.execute(open(agent("agent-a"), adjustable())).await);
    let amendment = Amendment { summary: Some("sk-secret".to_owned()), ..amendment(&other.id) };
    assert_eq!(refusal_of(store.execute(amend(amendment, "agent-a")).await).code(), "content_erased");
    let new_question = NewQuestion { text: "sk-secret".to_owned(), ..new_question(QuestionType::Clarifying) };
    assert_eq!(refusal_of(store.execute(ask(new_question)).await).code(), "content_erased");
    let edited = Review { edited: Some("sk-secret".to_owned()), ..review(&other.id, Choice::Adjust) };
    let refused = refusal_of(store.execute(command(reviewer("alice"), gate::Action::Decide(edited))).await);
    assert_eq!(refused.code(), "content_erased");
    assert_eq!(content(store, "sk-secret").await, None, "whoever sends it again");

    let events = assert_sound(store).await;
    let erased: Vec<_> = events.iter().filter(|event| event.fact.kind == "artifact.erased").collect();
    assert_eq!(erased.len(), 1);
    assert_eq!(erased[0].fact.stream.as_ref(), format!("artifact:{}", Digest::of(b"sk-secret")));
    assert_eq!(erased[0].fact.actor, name("root"));
    assert!(!events.iter().any(|event| event.fact.payload.contains("sk-secret")));
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate, "the row is as it was");
}

/// A gate of which people can say how it should be instead.
fn adjustable() -> NewGate {
    NewGate { allowed: Some(vec![Choice::Approve, Choice::Reject, Choice::Adjust]), ..new_gate() }
}

fn showing(summary: &str) -> NewGate {
    NewGate { summary: summary.to_owned(), ..new_gate() }
}

pub(crate) async fn what_a_run_records_is_kept_whatever_was_erased(world: &World<impl Place>) {
    let store = &*world.store;
    let gate = gate_of(store.execute(open_with(agent("agent-a"), showing("[1]"), vec![("note", b"{}")])).await);
    store.execute(approve(&gate.id, "alice")).await.unwrap();
    for text in ["{}", "[1]"] {
        store.execute(erase(text)).await.unwrap();
    }
    run_of(store.execute(start(NewRun { input: Some("{}".to_owned()), ..new_run("r1") })).await);
    claimed_of(store.execute(claim("r1", "n1")).await);
    let opens = |new_gate| {
        let policy = folkmoot_core::gate::GatePolicy::default();
        Write::Open { new_gate: Box::new(new_gate), policy, contents: Vec::new(), alone: None }
    };
    let refused = store.execute(record("r1", 1, "gate", opens(showing("[1]")))).await;
    assert_eq!(refusal_of(refused).code(), "content_erased", "a gate of a run is a gate");
    // In one batch with what erases it once more, whichever comes first.
    let (recorded, erased) =
        tokio::join!(store.execute(record("r1", 1, "step", done("{}"))), store.execute(erase("[1]")));
    entry_of(recorded);
    assert_eq!(erased, Ok(Outcome::Erased(Vec::new())));
    run_of(store.execute(end("r1", 1, "[1]")).await);
    let recorded = store.recorded(vec![Digest::of(b"{}"), Digest::of(b"[1]")]).await.unwrap();
    assert_eq!(recorded, [Some(b"{}".to_vec()), Some(b"[1]".to_vec())]);
    let query = JournalQuery { run: run_id("r1"), after: None, limit: 10, key: None, results: true };
    let journal = store.journal(query).await.unwrap();
    assert_eq!(journal.last().unwrap().result.as_deref(), Some("{}"));

    let view = store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!((view.summary, content(store, "{}").await), (None, None), "no gate shows it again");
    assert_eq!(refusal_of(store.execute(open(agent("agent-a"), showing("{}"))).await).code(), "content_erased");
    assert_sound(store).await;
    assert_eq!(store.execute(erase("[1]")).await, Ok(Outcome::Erased(vec![Digest::of(b"[1]")])), "it was there again");
    assert_eq!(store.recorded(vec![Digest::of(b"[1]")]).await, Ok(vec![None]));
    assert_sound(store).await;
}

pub(crate) async fn a_run_that_is_not_over_needs_what_its_gates_and_children_gave(store: &impl Store) {
    run_of(store.execute(start(new_run("r1"))).await);
    claimed_of(store.execute(claim("r1", "n1")).await);
    let gate = adjustable().id;
    let (opening_it, policy) =
        (NewGate { id: gate.clone(), ..adjustable() }, folkmoot_core::gate::GatePolicy::default());
    let opens = Write::Open { new_gate: Box::new(opening_it), policy, contents: Vec::new(), alone: None };
    entry_of(store.execute(record("r1", 1, "gate", opens)).await);
    let edited = Review { edited: Some("better".to_owned()), ..review(&gate, Choice::Adjust) };
    gate_of(store.execute(command(reviewer("alice"), gate::Action::Decide(edited))).await);
    let child = Write::Start(Box::new(NewRun { session_id: None, input: Some("7".to_owned()), ..new_run("r2") }));
    entry_of(store.execute(record("r1", 1, "child", child)).await);
    claimed_of(store.execute(claim("r2", "n1")).await);
    run_of(store.execute(end("r2", 1, "49")).await);
    let shown = new_gate().summary;
    for needed in ["better", "49", &shown] {
        let by = store.needed_by(Digest::of(needed.as_bytes())).await;
        assert_eq!(by, Ok(Some("r1".to_owned())), "{needed}");
    }
    assert_eq!(store.needed_by(Digest::of(b"7")).await, Ok(None), "the child is over, and is replayed no more");
    run_of(store.execute(end("r1", 1, "50")).await);
    for over in ["better", "49", "50", &shown] {
        assert_eq!(store.needed_by(Digest::of(over.as_bytes())).await, Ok(None), "{over}");
    }
    // Nobody here replays what somebody else's agent does, and such runs often have no end.
    let gate =
        gate_of(store.execute(open(agent("agent-a"), NewGate { run_id: Some(run_id("x1")), ..new_gate() })).await);
    assert_eq!(store.needed_by(gate.content.summary).await, Ok(Some(gate.id.to_string())));
    gate_of(store.execute(approve(&gate.id, "alice")).await);
    assert_eq!(store.needed_by(gate.content.summary).await, Ok(None));
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
    let again = || store.execute(open_with(agent("agent-a"), new_gate(), vec![("note", b"old")]));
    let (retired, sent) = tokio::join!(store.execute(retire("old", before)), again());
    assert_eq!(retired, Ok(Outcome::Erased(vec![Digest::of(b"old")])));
    gate_of(sent);
    assert_eq!(content(store, "old").await, Some(b"old".to_vec()), "it was sent after it was retired");
    let (sent, erased) = tokio::join!(
        store.execute(open_with(agent("agent-a"), new_gate(), vec![("note", b"new")])),
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
    let erasure = Erasure { digests: vec![gate.content.summary], reason: "a key was in it".to_owned() };
    world.store.execute(command(admin("root"), erase::Action::Erase(erasure))).await.unwrap();
    let view = world.store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!((view.gate, view.summary), (gate.clone(), None));
    let refused = refusal_of(world.store.execute(retitle(&gate.id, "Without its text")).await);
    assert_eq!(refused.code(), "invalid");
    assert_sound(&*world.store).await;
}
