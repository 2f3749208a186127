use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_store::{Error, GateQuery, ManualClock, Sqlite, Store};
use futures_util::future::join_all;

use crate::support::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_write_ahead_log_stays_small_under_load() {
    let place = InSqlite::new().await.unwrap();
    let store = Arc::new(Sqlite::open(&place.path(), Arc::new(ManualClock::at(noon()))).unwrap());
    let done = Arc::new(AtomicBool::new(false));
    // Somebody always reads, which is what keeps a log from starting again.
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (store, done) = (store.clone(), done.clone());
            tokio::spawn(async move {
                let mut read = 0;
                while !done.load(Ordering::Relaxed) {
                    read += store.histories("", 20).await.unwrap().len();
                    read += store.gates(GateQuery { limit: 20, ..GateQuery::default() }).await.unwrap().items.len();
                }
                read
            })
        })
        .collect();
    let wal = place.path().with_extension("db-wal");
    let (mut largest, mut slowest) = (0, Duration::ZERO);
    for _ in 0..40 {
        let started = Instant::now();
        let gates = join_all((0..250).map(|_| an_open_gate(&*store))).await;
        join_all(gates.iter().map(|gate| store.execute(approve(&gate.id, "alice")))).await;
        slowest = slowest.max(started.elapsed());
        largest = largest.max(std::fs::metadata(&wal).unwrap().len());
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        assert!(reader.await.unwrap() > 0, "nobody has read");
    }
    println!("20,000 commands: the log was {largest} bytes at most, the slowest 500 took {slowest:?}");
    assert!(largest > 1 << 20, "the log was only {largest} bytes: this proves nothing");
    assert!(largest < 64 << 20, "the log grew to {largest} bytes");
    assert_eq!(store.head().await.unwrap().position, 20_000);
}

/// Somebody who reads for a long time may let the log grow, but must not stop the writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_read_does_not_hold_up_the_writer() {
    let place = InSqlite::new().await.unwrap();
    let store = Sqlite::open(&place.path(), Arc::new(ManualClock::at(noon()))).unwrap();
    an_open_gate(&store).await;
    let reader = rusqlite::Connection::open(place.path()).unwrap();
    let snapshot = reader.unchecked_transaction().unwrap();
    let seen = |snapshot: &rusqlite::Transaction<'_>| -> i64 {
        snapshot.query_row("SELECT count(*) FROM gates", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(seen(&snapshot), 1);
    let mut slowest = Duration::ZERO;
    let content = "x".repeat(400_000);
    for n in 0..150 {
        let content = format!("{n}{content}");
        let started = Instant::now();
        gate_of(store.execute(open_with(agent("agent-a"), new_gate(), vec![("content", content.as_bytes())])).await);
        slowest = slowest.max(started.elapsed());
    }
    let wal = std::fs::metadata(place.path().with_extension("db-wal")).unwrap().len();
    assert!(wal > 33 << 20, "the log is only {wal} bytes: this proves nothing");
    assert_eq!(seen(&snapshot), 1);
    assert!(slowest < Duration::from_secs(2), "one command took {slowest:?}");
}

/// A connection that was cut off may still hold the store when the server ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_is_closed_whoever_still_holds_it() {
    let place = InSqlite::new().await.unwrap();
    let store = Arc::new(Sqlite::open(&place.path(), Arc::new(ManualClock::at(noon()))).unwrap());
    let gate = an_open_gate(&*store).await;
    let holders: Vec<_> = (0..8)
        .map(|n| {
            let (store, id) = (store.clone(), gate.id.clone());
            tokio::spawn(async move {
                loop {
                    let done = if n % 2 == 0 { store.gate(&id).await.map(drop) } else { write(&store).await };
                    if let Err(error) = done {
                        return error;
                    }
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    tokio::time::timeout(Duration::from_secs(120), store.close()).await.expect("it closes");
    let files: Vec<_> =
        std::fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["folkmoot.db"]);
    for holder in holders {
        assert_eq!(holder.await.unwrap(), Error::Stopped("it was closed".to_owned()));
    }
    // Once is enough, and twice is no harm.
    store.close().await;
}

async fn write(store: &Sqlite) -> Result<(), Error> {
    store.execute(open(agent("agent-a"), new_gate())).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_store_leaves_one_closed_file() {
    let place = InSqlite::new().await.unwrap();
    for _ in 0..10 {
        let store = Sqlite::open(&place.path(), Arc::new(ManualClock::at(noon()))).unwrap();
        let gates = join_all((0..100).map(|_| an_open_gate(&store))).await;
        join_all(gates.iter().map(|gate| store.gate(&gate.id))).await;
        drop(store);
        let open: Vec<_> = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
            .filter(|file| file.starts_with(place.folder.path()))
            .collect();
        assert_eq!(open, [""; 0].map(std::path::PathBuf::from));
        let files: Vec<_> =
            std::fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["folkmoot.db"]);
    }
}
