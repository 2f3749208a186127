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
            "{}: its row (approved by alice, revision 1, 2 events) disagrees with the log (approved by alicf, revision 1, 2 events) in state",
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
        store.execute(approve_seen(&amended, "alice")),
        store.execute(approve(&opened.id, "alice")),
        store.execute(open(agent("agent-a"), new_gate())),
    );
    gate_of(before);
    gate_of(after);
    assert!(matches!(broken, Err(folkmoot_store::Error::Unreadable(_))), "{broken:?}");
    let found = found(store).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(opened.id.as_str()), "{found:?}");
}

/// A parked run with three steps, and one that is new.
async fn two_runs(store: &impl Store) {
    use folkmoot_core::journal::Write;
    a_worked_on_run(store, "r1").await;
    for (key, write) in [("a", done("1")), ("b", Write::Failed(boom())), ("c", opens("gate-c"))] {
        entry_of(store.execute(record("r1", 1, key, write)).await);
    }
    run_of(store.execute(park(park_request("r1", 1, 0))).await);
    run_of(store.execute(start(new_run("r2"))).await);
    assert_eq!(problems(store).await, []);
}

/// Each is one statement behind the store's back, found in the run's stream and nowhere else.
pub(crate) async fn a_changed_run_or_journal_is_found(world: &World<impl Place>) {
    let store = &*world.store;
    two_runs(store).await;
    for (change, back, expected) in [
        ("runs SET title = 'x'", "runs SET title = ''", "disagrees with the log"),
        ("runs SET epoch = 0", "runs SET epoch = 1", "disagrees with the log"),
        ("runs SET role = 'admin'", "runs SET role = 'agent'", "disagrees with the log"),
        ("runs SET status = 'pending'", "runs SET status = 'parked'", "contradicts its state"),
        ("runs SET parked_wakes = NULL", "runs SET parked_wakes = 0", "contradicts its state"),
        ("runs SET held = 'a1'", "runs SET held = NULL", "contradicts its state"),
        ("runs SET node = 'n1'", "runs SET node = NULL", "contradicts its state"),
    ] {
        world.place.sql(&format!("UPDATE {change} WHERE id = 'r1'")).await;
        let found = found(store).await;
        assert_eq!(found.len(), 1, "{change}: {found:?}");
        assert!(found[0].starts_with("run:r1: ") && found[0].contains(expected), "{change}: {found:?}");
        world.place.sql(&format!("UPDATE {back} WHERE id = 'r1'")).await;
    }
    for (change, back) in [
        ("attempts = 2", "attempts = 1"),
        ("kind = 'once'", "kind = 'step'"),
        ("agent_id = 'elf'", "agent_id = NULL"),
        ("result = NULL", "result = 'sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b'"),
        (
            "state = replace(state, '\"bytes\":1', '\"bytes\":2')",
            "state = replace(state, '\"bytes\":2', '\"bytes\":1')",
        ),
        ("state = 'no json'||state", "state = replace(state, 'no json', '')"),
    ] {
        world.place.sql(&format!("UPDATE journal SET {change} WHERE run_id = 'r1' AND key = 'a'")).await;
        let found = found(store).await;
        assert_eq!(found.len(), 1, "{change}: {found:?}");
        assert!(found[0].starts_with("run:r1: "), "{change}: {found:?}");
        world.place.sql(&format!("UPDATE journal SET {back} WHERE run_id = 'r1' AND key = 'a'")).await;
    }
    // What has changed for a run is counted beside what the log says of it.
    world.place.sql("UPDATE runs SET wakes = 7").await;
    assert_eq!(found(store).await, [""; 0]);
}

pub(crate) async fn a_removed_or_invented_line_of_a_journal_is_found(world: &World<impl Place>) {
    two_runs(&*world.store).await;
    world.place.sql("UPDATE journal SET run_id = 'r2' WHERE run_id = 'r1' AND key = 'b'").await;
    let expected = [
        "run:r1: its row (parked, claim 1, 2 steps, 6 events) disagrees with the log (parked, claim 1, 3 steps, 6 events) in step b",
        "run:r2: its row (pending, claim 0, 1 steps, 1 events) disagrees with the log (pending, claim 0, 0 steps, 1 events) in step b",
    ];
    assert_eq!(found(&*world.store).await, expected);
}

pub(crate) async fn a_removed_run_is_found(world: &World<impl Place>) {
    two_runs(&*world.store).await;
    world.place.sql("DELETE FROM runs WHERE id = 'r1'").await;
    assert_eq!(found(&*world.store).await, ["run:r1: the log has this run, but its row is gone"]);
}
