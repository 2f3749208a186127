use folkmoot_core::{Deadline, Gate, Refusal, Timeout};
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn an_extension_moves_the_deadline(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let extended = gate_of(store.execute(extend(&gate.id, Timeout::After(minutes(90)))).await);
    let deadline = Deadline::At(noon().plus(minutes(90)));
    assert_eq!(extended, Gate { deadline, seq: 2, ..gate.clone() });
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, extended);
    let shorter = refusal_of(store.execute(extend(&gate.id, Timeout::After(minutes(10)))).await);
    assert_eq!(shorter, Refusal::DeadlineNotLater { deadline });
    assert_sound(store).await;
}

pub(crate) async fn an_extension_without_end_clears_it(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let extended = gate_of(store.execute(extend(&gate.id, Timeout::Never)).await);
    assert_eq!(extended.deadline, Deadline::Never);
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, extended);
    assert_eq!(store.next_due().await, Ok(None));
    assert_sound(store).await;
}
