//! Copies a SQLite database while a server writes to it.

use std::path::Path;

use crate::Error;

/// Copies a snapshot of `from` into `to`, a new or empty file. A server can keep writing, but its
/// write-ahead log cannot be reset before the copy is done.
///
/// Uses `VACUUM INTO` instead of copying pages, so that the copy is compact and its free pages
/// contain no erased content.
pub fn from_sqlite(from: &Path, to: &Path) -> Result<(), Error> {
    let connection = super::connect_to_read(from)?;
    crate::backup::schema_of(&connection, from)?;
    let target = to.to_str().ok_or_else(|| Error::Database(format!("{} is no text", to.display())))?;
    connection.execute("VACUUM INTO ?1", [target]).map_err(super::failed)?;
    drop(connection);
    // One file, without companions, that can be read from a read-only disk.
    let copy = super::connect_bare(to, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(super::failed)
}
