//! The rate at which this disk lets SQLite commit one row at a time, with the store's settings.

use std::{path::Path, time::Instant};

use anyhow::{Result, ensure};
use rusqlite::Connection;

use super::{Found, Tally, Window};

/// About the size of a gate's row and its event.
pub(super) const ROW: &str = concat!(
    "01234567890123456789012345678901234567890123456789",
    "01234567890123456789012345678901234567890123456789",
    "01234567890123456789012345678901234567890123456789",
    "01234567890123456789012345678901234567890123456789",
    "01234567890123456789012345678901234567890123456789",
);

pub(super) fn run(folder: &Path, window: Window) -> Result<Found> {
    let database = open(folder)?;
    let mut tally = Tally::new(Instant::now(), window);
    while !tally.is_over() {
        let began = Instant::now();
        commit(&database)?;
        tally.finished(began);
    }
    Ok(tally.found())
}

/// A database of rows, with the store's settings.
pub(crate) fn open(folder: &Path) -> Result<Connection> {
    let database = Connection::open(folder.join("raw.db"))?;
    let mode: String = database.query_row("pragma journal_mode = wal", [], |row| row.get(0))?;
    ensure!(mode == "wal", "no write-ahead log here, but `{mode}`");
    database.execute_batch(
        "pragma synchronous = full;
         create table if not exists raw (id integer primary key, body text not null);",
    )?;
    Ok(database)
}

/// One row, durable on return.
pub(crate) fn commit(database: &Connection) -> Result<()> {
    database.prepare_cached("insert into raw (body) values (?1)")?.execute([ROW])?;
    Ok(())
}
