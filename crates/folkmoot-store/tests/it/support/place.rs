//! The places in which a store can live, each with a way in behind the store's back.

use std::{
    future::Future,
    sync::{Arc, Mutex},
};

use folkmoot_store::{Error, ManualClock, Postgres, Sqlite, Store};
use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{noon, unique};

/// Where a store lives. It outlives the store, which can be opened there again.
pub(crate) trait Place: Send + Sync + Sized + 'static {
    type Store: Store + 'static;

    /// An empty place; `None` where this machine has none to offer.
    fn new() -> impl Future<Output = Option<Self>> + Send;

    fn open(&self, clock: Arc<ManualClock>) -> impl Future<Output = Result<Self::Store, Error>> + Send;

    /// Runs one statement without the store's knowledge. Every value comes back as text.
    fn sql(&self, statement: &str) -> impl Future<Output = Vec<Vec<String>>> + Send;
}

/// A store, its clock, and where it lives.
pub(crate) struct World<P: Place> {
    pub(crate) store: Arc<P::Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) place: P,
}

impl<P: Place> World<P> {
    pub(crate) async fn new() -> Option<Self> {
        let place = P::new().await?;
        let clock = Arc::new(ManualClock::at(noon()));
        let store = Arc::new(place.open(clock.clone()).await.unwrap());
        Some(Self { store, clock, place })
    }

    /// What a promise about the store alone is given.
    pub(crate) fn store(&self) -> &P::Store {
        &self.store
    }

    /// What a promise that needs more is given.
    pub(crate) fn world(&self) -> &Self {
        self
    }

    /// What a promise that closes the store is given.
    pub(crate) fn owned(self) -> Self {
        self
    }

    /// Closes the store and opens it again.
    pub(crate) async fn reopened(self) -> Self {
        let Self { store, clock, place } = self;
        drop(Arc::into_inner(store).expect("nobody else holds the store"));
        let store = Arc::new(place.open(clock.clone()).await.unwrap());
        Self { store, clock, place }
    }
}

pub(crate) struct InSqlite {
    pub(crate) folder: TempDir,
}

impl InSqlite {
    pub(crate) fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("folkmoot.db")
    }
}

impl Place for InSqlite {
    type Store = Sqlite;

    async fn new() -> Option<Self> {
        Some(Self { folder: tempfile::tempdir().unwrap() })
    }

    async fn open(&self, clock: Arc<ManualClock>) -> Result<Sqlite, Error> {
        Sqlite::open(&self.path(), clock)
    }

    async fn sql(&self, statement: &str) -> Vec<Vec<String>> {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        let mut statement = connection.prepare(statement).unwrap();
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|n| Ok(text(row.get_ref(n)?))).collect();
        statement.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

fn text(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A database that is nowhere, and that a store can be opened on again as long as this is kept.
/// There is no way in.
pub(crate) struct InMemory(Mutex<Option<Sqlite>>);

impl Place for InMemory {
    type Store = Sqlite;

    async fn new() -> Option<Self> {
        Some(Self(Mutex::default()))
    }

    async fn open(&self, clock: Arc<ManualClock>) -> Result<Sqlite, Error> {
        let mut kept = self.0.lock().unwrap();
        if kept.is_none() {
            *kept = Some(Sqlite::in_memory(clock)?);
        }
        Ok(kept.as_ref().and_then(Sqlite::again).unwrap())
    }

    async fn sql(&self, statement: &str) -> Vec<Vec<String>> {
        panic!("nobody can say {statement:?} to a database in memory");
    }
}

/// A schema of its own in the database that `cargo xtask test` starts.
pub(crate) struct InPostgres {
    pub(crate) url: String,
}

impl InPostgres {
    /// The database's address; `None` where FOLKMOOT_SKIP_POSTGRES allows to skip the test.
    pub(crate) fn database() -> Option<String> {
        let url = std::env::var("FOLKMOOT_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
        assert!(
            url.is_some() || std::env::var_os("FOLKMOOT_SKIP_POSTGRES").is_some(),
            "this test needs PostgreSQL: run `cargo xtask test`, or set FOLKMOOT_SKIP_POSTGRES to skip it"
        );
        url
    }
}

impl Place for InPostgres {
    type Store = Postgres;

    async fn new() -> Option<Self> {
        let database = Self::database()?;
        let schema = format!("test_{}_{}", std::process::id(), unique());
        connect(&database).await.batch_execute(&format!("CREATE SCHEMA {schema}")).await.unwrap();
        Some(Self { url: format!("{database} options='-c search_path={schema}'") })
    }

    async fn open(&self, clock: Arc<ManualClock>) -> Result<Postgres, Error> {
        Postgres::open(&self.url, Some(clock)).await
    }

    async fn sql(&self, statement: &str) -> Vec<Vec<String>> {
        let messages = connect(&self.url).await.simple_query(statement).await.unwrap();
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|n| row.get(n).unwrap_or_default().to_owned()).collect())
            }
            _ => None,
        };
        messages.into_iter().filter_map(row).collect()
    }
}

/// A plain connection, which ends when the client is dropped.
pub(crate) async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
