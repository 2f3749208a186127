//! Examines a database from outside, for `folkmoot doctor`. It changes nothing and waits for
//! nobody.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use folkmoot_core::{Head, KeyId, Timestamp};
use rusqlite::{Connection, OpenFlags};

use crate::{
    Clock, Error, SystemClock,
    backup::schema_of,
    migrate,
    rows::{self, Columns},
    sqlite,
};

pub use crate::postgres::health::{Setting, look_at_postgres};

/// The time limit for SQLite's check of a large file.
const INTEGRITY_CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// How many instructions SQLite executes before it checks the time limit.
const INSTRUCTIONS: i32 = 100_000;

pub(crate) const WEBHOOKS: &str = "SELECT name, key_id FROM webhooks WHERE removed_at IS NULL ORDER BY name";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub schema: i64,
    /// The newest version that this program knows.
    pub newest: i64,
    pub head: Head,
    pub last_event: Option<Timestamp>,
    /// The webhooks, with the keys of their secrets if known.
    pub webhooks: Vec<(String, Option<KeyId>)>,
    pub now: Timestamp,
    pub of: DatabaseHealth,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseHealth {
    Sqlite {
        /// Its integrity; `None` if it is too large to check now.
        whole: Option<Result<(), String>>,
        bytes: u64,
        log_bytes: u64,
    },
    Postgres {
        version: String,
        /// Settings that a commit needs to survive a crash.
        settings: Vec<Setting>,
        /// How far its clock is ahead of this machine's, in microseconds.
        ahead_micros: i64,
    },
}

/// Examines a SQLite file. A server may be writing to it.
pub fn look_at_sqlite(path: &Path) -> Result<Health, Error> {
    let log = path.with_extension("db-wal");
    if log.exists() {
        return look(sqlite::connect_to_read(path)?, path);
    }
    // Nobody has it open. Even a reader would leave a log and an index behind, unless the file is
    // opened as immutable.
    let found = immutable(path).and_then(|connection| look(connection, path));
    // If somebody opened it meanwhile, the read may mix old and new data.
    if log.exists() { look(sqlite::connect_to_read(path)?, path) } else { found }
}

fn immutable(path: &Path) -> Result<Connection, Error> {
    let escaped = path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{escaped}?immutable=1");
    sqlite::connect_bare(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

fn look(mut connection: Connection, path: &Path) -> Result<Health, Error> {
    let schema = schema_of(&connection, path)?;
    let head = sqlite::head(&connection)?;
    let sql = "SELECT at FROM events ORDER BY position DESC LIMIT 1";
    let last_event = sqlite::all(&connection, sql, &[], |row| row.int(0))?.pop().map(Timestamp::from_micros);
    let webhooks = sqlite::all(&connection, WEBHOOKS, &[], read_webhook)?;
    let until = Instant::now() + INTEGRITY_CHECK_TIMEOUT;
    connection.progress_handler(INSTRUCTIONS, Some(move || Instant::now() > until)).map_err(sqlite::failed)?;
    let whole = match sqlite::check_integrity(&connection, "quick_check") {
        Ok(()) => Some(Ok(())),
        Err(_) if Instant::now() > until => None,
        Err(error) => Some(Err(error.to_string())),
    };
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let of = DatabaseHealth::Sqlite { whole, bytes: size(path), log_bytes: size(&path.with_extension("db-wal")) };
    Ok(Health { schema, newest: migrate::newest(), head, last_event, webhooks, now: SystemClock.now(), of })
}

pub(crate) fn read_webhook(row: &dyn Columns) -> Result<(String, Option<KeyId>), Error> {
    Ok((row.text(0)?, rows::parse_maybe(row.maybe_text(1)?)?))
}
