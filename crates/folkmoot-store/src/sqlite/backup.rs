//! Copying a SQLite database while a server writes to it.

use std::path::Path;

use crate::Error;

/// Copies the database at `from`, as it is at one moment, into `to`, which must be an empty file or
/// not be there. A server may write meanwhile: it does not wait for this, but its write-ahead log
/// cannot start again before the copy is done.
///
/// `VACUUM INTO` rather than copying pages: what was erased is in no free page of the copy, and the
/// copy is compact.
pub fn from_sqlite(from: &Path, to: &Path) -> Result<(), Error> {
    let connection = super::connect_to_read(from)?;
    crate::backup::schema_of(&connection, from)?;
    let target = to.to_str().ok_or_else(|| Error::Database(format!("{} is no text", to.display())))?;
    connection.execute("VACUUM INTO ?1", [target]).map_err(super::failed)?;
    drop(connection);
    // One file without companions, which can be read from a disk that nobody can write to.
    let copy = super::connect_bare(to, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())).map_err(super::failed)
}
