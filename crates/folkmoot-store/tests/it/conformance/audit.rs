//! Whoever can write to the database directly can change it, but not unnoticed.

use folkmoot_core::Gate;
use folkmoot_store::Store;

use crate::support::*;

/// Three gates: one decided, one with two events, one only opened. Five events in all.
async fn three_gates(store: &impl Store) -> [Gate; 3] {
    let decided = an_open_gate(store).await;
    let decided = gate_of(store.execute(approve(&decided.id, "alice")).await);
    let amended = an_open_gate(store).await;
    let amended = gate_of(store.execute(retitle(&amended.id, "Deploy 1.4.3")).await);
    let opened = an_open_gate(store).await;
    assert_eq!(problems(store).await, []);
    [decided, amended, opened]
}

/// Each problem as `where: what`.
async fn found(store: &impl Store) -> Vec<String> {
    problems(store).await.into_iter().map(|problem| format!("{}: {}", problem.at, problem.problem)).collect()
}

pub(crate) async fn a_changed_payload_is_found(world: &World<impl Place>) {
    let [decided, ..] = three_gates(&*world.store).await;
    world.place.sql("UPDATE events SET payload = replace(payload, 'alice', 'alicf') WHERE position = 2").await;
    let expected = [
        "2: its content does not give its hash: it was changed".to_owned(),
        format!(
            "{}: its row (approved by alice, revision 1, 2 events) disagrees with the log (approved by alicf, revision 1, 2 events)",
            decided.id
        ),
    ];
    assert_eq!(found(&*world.store).await, expected);
}

pub(crate) async fn a_removed_event_is_found(world: &World<impl Place>) {
    let [_, amended, _] = three_gates(&*world.store).await;
    world.place.sql("DELETE FROM events WHERE position = 3").await;
    let expected = [
        "3: event 3 is missing: the log goes on with 4".to_owned(),
        format!("{}: its events do not make a gate: begins with gate.amended instead of gate.opened", amended.id),
    ];
    assert_eq!(found(&*world.store).await, expected);
}

pub(crate) async fn a_removed_tail_is_found(world: &World<impl Place>) {
    let [_, _, opened] = three_gates(&*world.store).await;
    world.place.sql("DELETE FROM events WHERE position = 5").await;
    let expected = [
        "head: the log ends at 4, but its head says 5".to_owned(),
        format!("{}: its events do not make a gate: there are no events", opened.id),
    ];
    assert_eq!(found(&*world.store).await, expected);
}

pub(crate) async fn a_changed_status_is_found(world: &World<impl Place>) {
    let [decided, ..] = three_gates(&*world.store).await;
    world.place.sql(&format!("UPDATE gates SET status = 'rejected' WHERE id = '{}'", decided.id)).await;
    let found = found(&*world.store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(decided.id.as_str()) && found[0].contains("contradicts"), "{found:?}");
}

pub(crate) async fn a_changed_decision_is_found(world: &World<impl Place>) {
    let [decided, ..] = three_gates(&*world.store).await;
    let change = "UPDATE gates SET decision = replace(decision, 'looked at it', 'did not look') WHERE id";
    world.place.sql(&format!("{change} = '{}'", decided.id)).await;
    let found = found(&*world.store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(decided.id.as_str()) && found[0].contains("disagrees with the log"), "{found:?}");
}

pub(crate) async fn a_changed_title_is_found(world: &World<impl Place>) {
    let [_, _, opened] = three_gates(&*world.store).await;
    world.place.sql(&format!("UPDATE gates SET title = 'Harmless' WHERE id = '{}'", opened.id)).await;
    let found = found(&*world.store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(opened.id.as_str()), "{found:?}");
}

pub(crate) async fn a_deleted_gate_is_found(world: &World<impl Place>) {
    let [decided, ..] = three_gates(&*world.store).await;
    world.place.sql(&format!("DELETE FROM gates WHERE id = '{}'", decided.id)).await;
    let expected = [format!("{}: the log has this gate, but its row is gone", decided.id)];
    assert_eq!(found(&*world.store).await, expected);
}

pub(crate) async fn an_invented_gate_is_found(world: &World<impl Place>) {
    let [decided, ..] = three_gates(&*world.store).await;
    world.place.sql(&format!("UPDATE gates SET id = 'gate-invented' WHERE id = '{}'", decided.id)).await;
    let found = found(&*world.store).await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("gate-invented: its events do not make a gate"), "{found:?}");
}

/// A row that nobody can read is an error for whoever needs it, and for nobody else.
pub(crate) async fn an_unreadable_gate_fails_alone(world: &World<impl Place>) {
    let store = &*world.store;
    let [_, amended, opened] = three_gates(store).await;
    world.place.sql(&format!("UPDATE gates SET votes = 'no json' WHERE id = '{}'", opened.id)).await;
    let (before, broken, after) = tokio::join!(
        biased;
        store.execute(approve(&amended.id, "alice")),
        store.execute(approve(&opened.id, "alice")),
        store.execute(open(agent("agent-a"), opening())),
    );
    gate_of(before);
    gate_of(after);
    assert!(matches!(broken, Err(folkmoot_store::Error::Unreadable(_))), "{broken:?}");
    let found = found(store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(opened.id.as_str()), "{found:?}");
}
