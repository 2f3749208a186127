use folkmoot_core::gate::{Amendment, GateState};
use folkmoot_store::Store;

use crate::support::*;

pub(crate) async fn an_amendment_is_a_new_revision_on_which_no_vote_counts(store: &impl Store) {
    let mut new_gate = new_gate();
    new_gate.quorum = Some(2);
    let gate = opened(store, new_gate).await;
    let voted = gate_of(store.execute(approve(&gate.id, "alice")).await);
    assert!(matches!(&voted.state, GateState::Pending { votes } if votes.len() == 1));
    let amended = gate_of(store.execute(retitle(&gate.id, "Deploy 1.4.3")).await);
    assert_eq!((amended.revision, amended.seq), (2, 3));
    assert_ne!(amended.digest, gate.digest);
    assert_eq!(amended.state, GateState::Pending { votes: Vec::new() });
    assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, amended);
    assert_sound(store).await;
}

pub(crate) async fn an_amendment_keeps_the_summary_that_stands(store: &impl Store) {
    // The summary is read from before the batch, and from within it.
    let alone = an_open_gate(store).await;
    let alone = gate_of(store.execute(retitle(&alone.id, "Deploy 1.4.3")).await);
    let new_gate = new_gate();
    let id = new_gate.id.clone();
    let (_, together) =
        tokio::join!(store.execute(open(agent("agent-a"), new_gate)), store.execute(retitle(&id, "Deploy 1.4.3")),);
    let together = gate_of(together);
    for gate in [alone, together] {
        assert_eq!(gate.digest, gate.content.digest("Deploy 1.4.2 to production"));
        let summary = store.gate(&gate.id).await.unwrap().unwrap().summary;
        assert_eq!(summary.as_deref(), Some("Deploy 1.4.2 to production"));
    }
}

pub(crate) async fn an_amendment_that_changes_nothing_writes_nothing(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let head = store.head().await.unwrap();
    let same = Amendment { summary: Some("Deploy 1.4.2 to production".to_owned()), ..amendment(&gate.id) };
    assert_eq!(gate_of(store.execute(amend(same, "agent-a")).await), gate);
    assert_eq!(store.head().await.unwrap(), head);
}

pub(crate) async fn a_new_summary_is_what_is_read(store: &impl Store) {
    let gate = an_open_gate(store).await;
    let first = Amendment { summary: Some("First".to_owned()), ..amendment(&gate.id) };
    let second = Amendment { summary: Some("Second".to_owned()), ..amendment(&gate.id) };
    let (first, second, retitled) = tokio::join!(
        store.execute(amend(first, "agent-a")),
        store.execute(amend(second, "agent-a")),
        store.execute(retitle(&gate.id, "Third")),
    );
    assert_eq!(gate_of(first).content.summary, folkmoot_core::Digest::of(b"First"));
    assert_eq!(gate_of(second).revision, 3);
    let retitled = gate_of(retitled);
    assert_eq!(retitled.digest, retitled.content.digest("Second"));
    let view = store.gate(&gate.id).await.unwrap().unwrap();
    assert_eq!((view.gate, view.summary.as_deref()), (retitled, Some("Second")));
    assert_sound(store).await;
}
