use folkmoot_core::GateStatus;
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn a_withdrawn_gate_is_closed(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let theirs = refusal_of(store.execute(cancel(&gate.id, agent("agent-b"))).await);
    assert_eq!(theirs.code(), "unknown_gate");
    let cancelled = gate_of(store.execute(cancel(&gate.id, agent("agent-a"))).await);
    assert_eq!(cancelled.status(), GateStatus::Cancelled);
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, cancelled);
    assert_eq!(refusal_of(store.execute(approve(&gate.id, "alice")).await).code(), "gate_decided");
    assert_eq!(store.next_due().await, Ok(None));
    assert_sound(store).await;
}
