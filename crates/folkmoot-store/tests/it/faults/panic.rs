//! A bug in the rules, here a clock that panics. What is half done cannot be trusted, so the store
//! stops.

use std::sync::Arc;

use folkmoot_core::Timestamp;
use folkmoot_store::{Clock, Error, Postgres, Sqlite, Store};

use crate::support::*;

#[derive(Debug)]
struct BrokenClock;

impl Clock for BrokenClock {
    fn now(&self) -> Timestamp {
        panic!("this clock is broken on purpose")
    }
}

/// The first may have been written, as far as its caller can know; after it, nothing is.
async fn assert_stops(store: &impl Store) {
    let first = store.execute(open(agent("agent-a"), new_gate())).await;
    assert!(matches!(first, Err(Error::Stopped(_) | Error::OutcomeUnknown)), "{first:?}");
    let reason = store.stopped().await;
    assert!(reason.contains("panicked"), "{reason}");
    assert_eq!(store.execute(open(agent("agent-a"), new_gate())).await, Err(Error::Stopped(reason)));
    assert_eq!(store.head().await.unwrap().position, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_panics_stops_the_store_on_sqlite() {
    let place = InSqlite::new().await.unwrap();
    assert_stops(&Sqlite::open(&place.path(), Arc::new(BrokenClock)).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_panics_stops_the_store_on_postgres() {
    let Some(place) = InPostgres::new().await else { return };
    assert_stops(&Postgres::open(&place.url, Some(Arc::new(BrokenClock))).await.unwrap()).await;
}
