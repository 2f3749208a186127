//! A backup holds every table as it was at one moment, whichever database it comes from and goes
//! to.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use folkmoot_store::{Error, ManualClock, Postgres, Sqlite, Store, backup};

use crate::support::*;

/// Every row of every table, each as text.
fn everything(file: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = rusqlite::Connection::open(file).unwrap();
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let table = |name: String| {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((0..columns).map(|n| format!("{:?}|", row.get_ref(n).unwrap())).collect::<String>())
        };
        let mut rows: Vec<String> = statement.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows.sort();
        (name, rows)
    };
    names.into_iter().map(table).collect()
}

/// A store in which each table that a store writes has a row.
async fn furnish(store: &impl Store) {
    let gate = an_open_gate(store).await;
    gate_of(store.execute(approve(&gate.id, "alice")).await);
    gate_of(store.execute(open_with(agent("agent-a"), new_gate(), vec![("bytes", b"\0\xff' ; --\n")])).await);
    let told = folkmoot_core::gate::NewGate { notification_channels: vec!["ops".to_owned()], ..new_gate() };
    opened(store, told).await;
    store.execute(mint("token-of-alice", "alice", folkmoot_core::Role::Reviewer, "s1")).await.unwrap();
    store.execute(keyed(open(agent("agent-a"), new_gate()), "POST /v1/gates", "k1", "body")).await.unwrap();
    a_worked_on_run(store, "r1").await;
    entry_of(store.execute(record("r1", 1, "a", done("1"))).await);
    a_debate(store, "d1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_holds_every_table_of_a_file() {
    let world = World::<InSqlite>::new().await.unwrap();
    furnish(&*world.store).await;
    let file = world.place.folder.path().join("backup.db");
    backup::from_sqlite(&world.place.path(), &file).unwrap();
    assert_eq!(everything(&file), everything(&world.place.path()));
    let contents = backup::inspect(&file).unwrap();
    assert_eq!(contents.head, world.store.head().await.unwrap());
    assert_eq!(contents.rows["gates"], 4);
    assert!(!contents.is_older());
    // One file, with nothing beside it, that can be read where nobody can write.
    let beside = std::fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(beside.filter(|name| name.to_string_lossy().starts_with("backup")).count(), 1);
    assert_sound(&Sqlite::open_to_read(&file, Arc::new(ManualClock::at(noon()))).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_postgres_and_back_nothing_is_left_out() {
    let Some(world) = World::<InPostgres>::new().await else { return };
    furnish(&*world.store).await;
    let folder = tempfile::tempdir().unwrap();
    let (file, again) = (folder.path().join("backup.db"), folder.path().join("again.db"));
    backup::from_postgres(&world.place.url, &file).await.unwrap();
    let tables = world.place.sql("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").await;
    let held = everything(&file);
    assert_eq!(held.len(), tables.len(), "{:?} of {tables:?}", held.keys());
    for [table] in tables.iter().map(|row| <&[String; 1]>::try_from(row.as_slice()).unwrap()) {
        let count = world.place.sql(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count[0][0], held[table].len().to_string(), "{table}");
    }
    let filled = held.iter().filter(|(_, rows)| !rows.is_empty()).count();
    assert!(filled >= 14, "only {filled} tables have rows: this proves little");
    let contents = backup::inspect(&file).unwrap();
    assert_eq!(contents.head, world.store.head().await.unwrap());
    // Into another PostgreSQL, and out of that.
    let other = InPostgres::new().await.unwrap();
    backup::into_postgres(&file, &other.url).await.unwrap();
    backup::from_postgres(&other.url, &again).await.unwrap();
    assert_eq!(everything(&again), held);
    let store = other.open(world.clock.clone()).await.unwrap();
    assert_sound(&store).await;
    // It goes on from there.
    an_open_gate(&store).await;
    assert_eq!(store.head().await.unwrap().position, contents.head.position + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_has_a_log_is_not_filled() {
    let Some(world) = World::<InPostgres>::new().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    // Tables without a log are as good as none, and what is in the backup is all that is there
    // afterwards.
    backup::from_postgres(&world.place.url, &file).await.unwrap();
    backup::into_postgres(&file, &world.place.url).await.unwrap();
    let gate = an_open_gate(&*world.store).await;
    match backup::into_postgres(&file, &world.place.url).await {
        Err(Error::Schema(why)) => assert!(why.contains("a log with 1 events"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_one_moment_while_many_write() {
    let world = World::<InSqlite>::new().await.unwrap();
    one_moment(&world, async |file: &Path| backup::from_sqlite(&world.place.path(), file)).await;
    let Some(world) = World::<InPostgres>::new().await else { return };
    one_moment(&world, async |file: &Path| backup::from_postgres(&world.place.url, file).await).await;
}

async fn one_moment<P: Place>(world: &World<P>, back_up: impl AsyncFn(&Path) -> Result<(), Error>) {
    let folder = tempfile::tempdir().unwrap();
    let (store, clock) = (world.store.clone(), world.clock.clone());
    let writing = tokio::spawn(async move { storm(&store, &clock, 11, 8, 60).await });
    let mut positions = Vec::new();
    while !writing.is_finished() && positions.len() < 20 {
        let file = folder.path().join(format!("{}.db", positions.len()));
        let before = world.store.head().await.unwrap();
        back_up(&file).await.unwrap();
        let contents = backup::inspect(&file).unwrap();
        let copy = Sqlite::open_to_read(&file, world.clock.clone()).unwrap();
        assert_eq!(assert_sound(&copy).await.len() as u64, contents.head.position);
        // Whatever was acknowledged before it began is in it.
        assert!(contents.head.position >= before.position);
        positions.push(contents.head.position);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    writing.await.unwrap();
    positions.dedup();
    assert!(positions.len() > 1, "nobody wrote meanwhile: this proves nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_backup_is_refused() {
    let world = World::<InSqlite>::new().await.unwrap();
    furnish(&*world.store).await;
    let file = world.place.folder.path().join("backup.db");
    backup::from_sqlite(&world.place.path(), &file).unwrap();
    let refused = |error: Error, expected: &str| {
        let said = error.to_string();
        assert!(said.contains(expected), "{said}");
    };
    // Damaged: a page in the middle is another's.
    let damaged = world.place.folder.path().join("damaged.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes.copy_within(4096..8192, middle);
    std::fs::write(&damaged, &bytes).unwrap();
    refused(backup::inspect(&damaged).unwrap_err(), "");
    // Something else.
    std::fs::write(&damaged, "not a database, but long enough to look like one".repeat(100)).unwrap();
    refused(backup::inspect(&damaged).unwrap_err(), "file is not a database");
    std::fs::remove_file(&damaged).unwrap();
    rusqlite::Connection::open(&damaged).unwrap().execute_batch("CREATE TABLE mine (x)").unwrap();
    refused(backup::inspect(&damaged).unwrap_err(), "holds no data of Folkmoot");
    refused(backup::events(&damaged).unwrap_err(), "holds no data of Folkmoot");
    // From the future, and it stays as it is.
    let newer = rusqlite::Connection::open(&file).unwrap();
    newer.execute_batch("INSERT INTO migrations VALUES (99, 'from the future', 'sha256:00')").unwrap();
    drop(newer);
    let before = std::fs::read(&file).unwrap();
    refused(backup::inspect(&file).unwrap_err(), "made by a newer Folkmoot");
    refused(backup::from_sqlite(&file, &damaged.with_extension("copy")).unwrap_err(), "made by a newer Folkmoot");
    refused(Sqlite::open(&file, world.clock.clone()).unwrap_err(), "use the newer one");
    assert_eq!(std::fs::read(&file).unwrap(), before, "it was changed");
    let Some(place) = InPostgres::new().await else { return };
    refused(backup::into_postgres(&file, &place.url).await.unwrap_err(), "made by a newer Folkmoot");
    refused(backup::from_postgres(&place.url, &damaged.with_extension("none")).await.unwrap_err(), "holds no data");
    assert_eq!(place.sql("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").await, [["0"]]);
    drop(Postgres::open(&place.url, None).await.unwrap());
}
