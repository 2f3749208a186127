use folkmoot_core::{Gate, Subject, Timeout, Timer, gate::NewGate};
use folkmoot_store::Store;

use crate::support::*;

async fn waiting(store: &impl Store, for_minutes: u64) -> Gate {
    opened(store, NewGate { timeout: Some(Timeout::After(minutes(for_minutes))), ..new_gate() }).await
}

fn timer(gate: &Gate, due_minutes: u64) -> Timer {
    Timer { subject: Subject::Gate(gate.id.clone()), due: noon().plus(minutes(due_minutes)) }
}

pub(crate) async fn timers_come_the_oldest_first(store: &impl Store) {
    assert_eq!(store.next_due().await, Ok(None));
    let (third, first, second) = (waiting(store, 3).await, waiting(store, 1).await, waiting(store, 2).await);
    assert_eq!(store.next_due().await, Ok(Some(noon().plus(minutes(1)))));
    assert_eq!(store.due(noon(), 10).await, Ok(vec![]));
    // A timer is due at its moment, not after it.
    assert_eq!(store.due(noon().plus(minutes(2)), 10).await, Ok(vec![timer(&first, 1), timer(&second, 2)]));
    assert_eq!(store.due(noon().plus(minutes(5)), 1).await, Ok(vec![timer(&first, 1)]));
    let all = store.due(noon().plus(minutes(5)), 10).await.unwrap();
    assert_eq!(all, [timer(&first, 1), timer(&second, 2), timer(&third, 3)]);
}

pub(crate) async fn an_extension_moves_the_timer_and_a_decision_clears_it(store: &impl Store) {
    let gate = waiting(store, 1).await;
    // Twice in one batch: the last one stands.
    let (first, second) = tokio::join!(
        biased;
        store.execute(extend(&gate.id, Timeout::After(minutes(5)))),
        store.execute(extend(&gate.id, Timeout::After(minutes(7)))),
    );
    gate_of(first);
    gate_of(second);
    assert_eq!(store.due(noon().plus(minutes(9)), 10).await, Ok(vec![timer(&gate, 7)]));
    let (extended, decided) = tokio::join!(
        biased;
        store.execute(extend(&gate.id, Timeout::After(minutes(8)))),
        store.execute(approve(&gate.id, "alice")),
    );
    gate_of(extended);
    gate_of(decided);
    assert_eq!(store.next_due().await, Ok(None));
}

pub(crate) async fn a_gate_that_waits_for_ever_has_no_timer(store: &impl Store) {
    opened(store, NewGate { timeout: Some(Timeout::Never), ..new_gate() }).await;
    assert_eq!(store.next_due().await, Ok(None));
}

pub(crate) async fn an_amendment_leaves_the_timer(store: &impl Store) {
    let gate = waiting(store, 1).await;
    store.execute(retitle(&gate.id, "Deploy 1.4.3")).await.unwrap();
    store.execute(decide(&gate.id, agent("agent-b"), folkmoot_core::gate::Choice::Approve)).await.unwrap_err();
    assert_eq!(store.next_due().await, Ok(Some(noon().plus(minutes(1)))));
}
