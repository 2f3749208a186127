use folkmoot_core::{
    Command, GateStatus, Outcome, Refusal, Timeout,
    gate::{NewGate, OnTimeout},
};
use folkmoot_store::Store;
use futures_util::future::join_all;

use crate::support::*;

fn question(key: &str, summary: &str) -> NewGate {
    NewGate { dedupe_key: Some(key.to_owned()), summary: summary.to_owned(), ..new_gate() }
}

fn ask(by: &str, key: &str, summary: &str) -> Command {
    open(agent(by), question(key, summary))
}

pub(crate) async fn the_same_question_is_asked_once(store: &impl Store) {
    let gate = gate_of(store.execute(ask("agent-a", "deploy", "Deploy?")).await);
    assert_eq!(existing_of(store.execute(ask("agent-a", "deploy", "Deploy?")).await), gate);
    assert_eq!(store.head().await.unwrap().position, 1);
    assert_eq!(store.pending().await, Ok(1));
}

pub(crate) async fn another_question_under_the_same_key_is_refused(store: &impl Store) {
    let gate = gate_of(store.execute(ask("agent-a", "deploy", "Deploy?")).await);
    let other = refusal_of(store.execute(ask("agent-a", "deploy", "Delete?")).await);
    assert_eq!(other, Refusal::DedupeConflict { gate: gate.id });
}

pub(crate) async fn another_requester_asks_for_itself(store: &impl Store) {
    let (mine, theirs) = tokio::join!(
        store.execute(ask("agent-a", "deploy", "Deploy?")),
        store.execute(ask("agent-b", "deploy", "Delete?")),
    );
    assert_ne!(gate_of(mine).id, gate_of(theirs).id);
}

pub(crate) async fn after_a_decision_the_key_is_free(store: &impl Store) {
    let first = gate_of(store.execute(ask("agent-a", "deploy", "Deploy?")).await);
    store.execute(approve(&first.id, "alice")).await.unwrap();
    let second = gate_of(store.execute(ask("agent-a", "deploy", "Delete?")).await);
    assert_ne!(second.id, first.id);
    assert_sound(store).await;
}

pub(crate) async fn copies_that_arrive_together_open_one_gate(world: &World<impl Place>) {
    let copies = (0..64).map(|_| {
        let store = world.store.clone();
        tokio::spawn(async move { store.execute(ask("agent-a", "deploy", "Deploy?")).await })
    });
    let answers: Vec<_> = join_all(copies).await.into_iter().map(Result::unwrap).collect();
    let opened = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Gate(_)))).count();
    let existing = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Existing(_)))).count();
    assert_eq!((opened, existing), (1, 63));
    assert_eq!(assert_sound(&*world.store).await.len(), 1);
}

pub(crate) async fn a_decision_and_its_successor_in_one_batch(store: &impl Store) {
    let (first, second, third) =
        (question("deploy", "Deploy 1?"), question("deploy", "Deploy 2?"), question("deploy", "Deploy 3?"));
    let (first_id, second_id) = (first.id.clone(), second.id.clone());
    let (opened, approved, again, rejected, once_more, too_soon) = tokio::join!(
        biased;
        store.execute(open(agent("agent-a"), first)),
        store.execute(approve(&first_id, "alice")),
        store.execute(open(agent("agent-a"), second)),
        store.execute(reject(&second_id, "alice")),
        store.execute(open(agent("agent-a"), third)),
        store.execute(ask("agent-a", "deploy", "Deploy 4?")),
    );
    for gate in [opened, approved, again, rejected] {
        gate_of(gate);
    }
    let third = gate_of(once_more);
    assert_eq!(refusal_of(too_soon), Refusal::DedupeConflict { gate: third.id.clone() });
    assert_eq!(store.pending().await, Ok(1));
    assert_eq!(assert_sound(store).await.len(), 5);
}

pub(crate) async fn a_lapsed_gate_makes_room_for_its_successor(world: &World<impl Place>) {
    let store = &*world.store;
    let lapsed = NewGate { timeout: Some(Timeout::After(minutes(1))), ..question("deploy", "Deploy?") };
    let lapsed = opened(store, lapsed).await;
    world.clock.advance(minutes(2));
    // Its timer has not come round, but nothing can approve it any more.
    let successor = gate_of(store.execute(ask("agent-a", "deploy", "Deploy?")).await);
    assert_ne!(successor.id, lapsed.id);
    assert_eq!(store.gate(&lapsed.id).await.unwrap().unwrap().gate.status(), GateStatus::TimedOut);
    assert_eq!(store.next_due().await, Ok(successor.deadline.moment()));
    assert_sound(store).await;
}

pub(crate) async fn an_escalated_gate_is_still_the_one(world: &World<impl Place>) {
    let store = &*world.store;
    let question = || NewGate { on_timeout: Some(OnTimeout::Escalate), ..question("deploy", "Deploy?") };
    let gate = opened(store, question()).await;
    world.clock.advance(minutes(31));
    let existing = existing_of(store.execute(open(agent("agent-a"), question())).await);
    assert_eq!((existing.id, existing.escalated, existing.seq), (gate.id.clone(), true, 2));
    assert_eq!(store.next_due().await, Ok(Some(noon().plus(minutes(61)))));
    assert_sound(store).await;
}
