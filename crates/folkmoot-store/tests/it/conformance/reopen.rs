use folkmoot_core::{Role, gate::Opening};
use folkmoot_store::{Error, GateQuery, Store};
use futures_util::future::join_all;

use crate::support::*;

pub(crate) async fn everything_is_there_after_a_restart(world: World<impl Place>) {
    let answers = storm(&world.store, &world.clock, 7, 8, 40).await;
    assert!(answers.len() > 5, "{answers:?}");
    let store = world.store();
    store.execute(mint("token-of-old", "alice", Role::Reviewer, "s1")).await.unwrap();
    let keyed_gate = keyed(open(agent("agent-a"), opening()), "POST /v1/gates", "k1", "body");
    let first = store.execute(keyed_gate.clone()).await;
    let all = GateQuery { limit: 1000, ..GateQuery::default() };
    let before = (
        all_events(store).await,
        store.head().await.unwrap(),
        store.gates(all.clone()).await.unwrap(),
        store.tokens().await.unwrap(),
        store.next_due().await.unwrap(),
        store.pending().await.unwrap(),
    );
    let world = world.reopened().await;
    let store = world.store();
    let after = (
        all_events(store).await,
        store.head().await.unwrap(),
        store.gates(all).await.unwrap(),
        store.tokens().await.unwrap(),
        store.next_due().await.unwrap(),
        store.pending().await.unwrap(),
    );
    assert_eq!(before, after);
    assert_eq!(store.execute(keyed_gate).await, first);
    assert_sound(store).await;
}

pub(crate) async fn writing_goes_on_where_it_ended(world: World<impl Place>) {
    let gate = an_open_gate(world.store()).await;
    let world = world.reopened().await;
    gate_of(world.store.execute(approve(&gate.id, "alice")).await);
    let world = world.reopened().await;
    assert_eq!(refusal_of(world.store.execute(reject(&gate.id, "bob")).await).code(), "gate_decided");
    assert_eq!(assert_sound(world.store()).await.len(), 3);
}

pub(crate) async fn a_newer_schema_is_refused(world: World<impl Place>) {
    let World { store, clock, place } = world;
    drop(store);
    place.sql("INSERT INTO migrations (version, name, checksum) VALUES (99, 'from the future', 'sha256:00')").await;
    match place.open(clock).await {
        Err(Error::Schema(why)) => {
            assert!(why.contains("made by a newer") && why.contains("newer Folkmoot"), "{why}");
        }
        other => panic!("not refused: {:?}", other.map(drop)),
    }
}

pub(crate) async fn a_changed_migration_is_refused(world: World<impl Place>) {
    let World { store, clock, place } = world;
    drop(store);
    place.sql("UPDATE migrations SET checksum = 'sha256:00' WHERE version = 1").await;
    match place.open(clock).await {
        Err(Error::Schema(why)) => assert!(why.contains("migration 1") && why.contains("foundation"), "{why}"),
        other => panic!("not refused: {:?}", other.map(drop)),
    }
}

/// Whatever was acknowledged, or was not, is what the next start finds.
pub(crate) async fn what_was_taken_before_closing_is_answered(world: World<impl Place>) {
    let World { store, clock, place } = world;
    let gates = {
        let store = &*store;
        join_all((0..50).map(|_| an_open_gate(store))).await
    };
    drop(store);
    let store = place.open(clock).await.unwrap();
    assert_eq!(store.pending().await, Ok(50));
    for gate in gates {
        assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
    }
}

/// What the version before workflows wrote: two runs of somebody else's agents, one of them with a
/// gate that was decided.
pub(crate) async fn a_database_from_before_workflows_is_migrated(world: World<impl Place>) {
    use folkmoot_core::{Event, Fact, Head, chain};
    let World { store, clock, place } = world;
    let gate = opened(&*store, Opening { run_id: Some(run_id("gone")), ..opening() }).await;
    assert_eq!(all_events(&*store).await.len(), 2);
    drop(store);
    // Back to the schema of then, in which only the gate is left to be dropped.
    place.before_workflows().await;
    let (mut head, at) = (Head::START, noon().as_micros());
    for (n, (run, by)) in [("r1", "agent-a"), ("r2", "alice")].into_iter().enumerate() {
        let fact = Fact {
            stream: format!("run:{run}").into(),
            stream_seq: 1,
            kind: "run.started".into(),
            version: 1,
            actor: name(by),
            on_behalf_of: None,
            session: Some(run.parse().unwrap()),
            command_id: format!("cmd-old-{n}").parse().unwrap(),
            at: noon(),
            payload: format!(
                r#"{{"id":"{run}","kind":"external","session_id":"{run}","initiator":"{by}","started_at":"{}"}}"#,
                noon()
            ),
            token_id: None,
        };
        let Event { position, fact, prev_hash, hash } = chain::append(&mut head, fact);
        let Fact { stream, kind, actor, command_id, payload, .. } = fact;
        place
            .sql(&format!(
                "INSERT INTO events (position, stream, stream_seq, type, version, actor, session, command_id, at, payload,
                 prev_hash, hash) VALUES ({position}, '{stream}', 1, '{kind}', 1, '{actor}', '{run}', '{command_id}', {at},
                 '{payload}', '{prev_hash}', '{hash}')"
            ))
            .await;
        place
            .sql(&format!(
                "INSERT INTO runs (id, kind, session_id, initiator, started_at, wakes)
                 VALUES ('{run}', 'external', '{run}', '{by}', {at}, {n})"
            ))
            .await;
    }
    place.sql(&format!("UPDATE head SET position = {}, hash = '{}'", head.position, head.hash)).await;
    let store = place.open(clock).await.unwrap();
    assert_eq!(assert_sound(&store).await.len(), 2);
    assert_eq!(store.gate(&gate.id).await, Ok(None));
    let run = store.run(&run_id("r2")).await.unwrap().unwrap();
    assert_eq!((run.status().word(), run.start.initiator.as_str(), run.start.role), ("running", "alice", Role::Agent));
    assert_eq!((ready(&store).await, orphans(&store).await), (vec![], vec![]));
    // They go on as they were.
    opened(&store, Opening { run_id: Some(run_id("r1")), ..opening() }).await;
    let ended = run_of(store.execute(cancel_run("r1")).await);
    assert_eq!((ended.seq, ended.status().word()), (2, "cancelled"));
    assert_eq!(store.pending().await, Ok(0));
    assert_sound(&store).await;
}

/// What the version before wrote, of which nothing was ever delivered.
pub(crate) async fn deliveries_from_before_any_were_sent_wait(world: World<impl Place>) {
    let notification_channels = vec!["ops".to_owned(), "who: cares?".to_owned()];
    let gate = opened(world.store(), Opening { notification_channels, ..opening() }).await;
    world.store.execute(approve(&gate.id, "alice")).await.unwrap();
    let expected = deliveries(world.store()).await;
    let World { store, clock, place } = world;
    drop(store);
    let at = noon().as_micros();
    let back = [
        "DROP VIEW debate_sessions",
        "DROP VIEW debate_turns",
        "DROP VIEW code_versions",
        "DROP VIEW debate_logs",
        "DROP TABLE debates",
        "DROP TABLE turns",
        "DROP TABLE versions",
        "DROP TABLE lines",
        "DROP TABLE lessons",
        "DROP INDEX runs_debates",
        "DROP INDEX runs_debates_open",
        "DROP TABLE outbox",
        "DROP TABLE webhooks",
        "DROP INDEX gates_inbox_of",
        "DROP INDEX questions_open_of",
        "DROP INDEX runs_open_of",
        "DROP INDEX gates_stopping",
        "DROP INDEX gates_pending_of_run",
        "DROP INDEX gates_approved_of_run",
        "ALTER TABLE gates DROP COLUMN stopped_at",
        "ALTER TABLE gates DROP COLUMN content_bytes",
        "ALTER TABLE events DROP COLUMN token_id",
        "ALTER TABLE gates DROP COLUMN presence",
        "ALTER TABLE tokens DROP COLUMN kind",
        "ALTER TABLE runs DROP COLUMN resumed_at",
        "ALTER TABLE gates DROP COLUMN reminders",
        "ALTER TABLE artifacts DROP COLUMN used_at",
        "ALTER TABLE artifacts DROP COLUMN erasures",
        "ALTER TABLE artifacts DROP COLUMN barred",
        "DELETE FROM migrations WHERE version >= 4",
        "CREATE TABLE outbox (id TEXT PRIMARY KEY, channel TEXT NOT NULL, gate_id TEXT NOT NULL, type TEXT NOT NULL,
         created_at BIGINT NOT NULL, delivered_at BIGINT)",
    ];
    for sql in back {
        place.sql(sql).await;
    }
    for (position, kind) in [(1, "gate.opened"), (2, "gate.decided")] {
        for channel in ["who: cares?", "ops"] {
            let id = &gate.id;
            place
                .sql(&format!(
                    "INSERT INTO outbox VALUES ('{position}:{channel}', '{channel}', '{id}', '{kind}', {at}, NULL)"
                ))
                .await;
        }
    }
    let store = place.open(clock).await.unwrap();
    assert_eq!(deliveries(&store).await, expected, "as if this version had written them");
    assert_eq!(deliveries_of(store.execute(take("ops", 9)).await).len(), 2);
    assert_sound(&store).await;
}
