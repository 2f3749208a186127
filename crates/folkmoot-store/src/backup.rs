//! Backups: one SQLite file with our schema, from either database.
//!
//! Tables and columns are read from the schema, so that new migrations are copied too. A backup is
//! a snapshot of one moment, taken while others write.

use std::{collections::BTreeMap, path::Path};

use folkmoot_core::Head;
use rusqlite::Connection;

use crate::{Error, migrate, sqlite};

pub use crate::{
    postgres::backup::{from_postgres, into_postgres},
    sqlite::backup::from_sqlite,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its schema version.
    pub schema: i64,
    pub head: Head,
    pub rows: BTreeMap<String, u64>,
}

impl Contents {
    /// Whether an older version wrote it. A server migrates it when it opens it.
    pub fn is_older(&self) -> bool {
        self.schema < migrate::newest()
    }
}

/// Examines a file without changing it: its integrity, whether this version can read it, and its
/// contents.
pub fn inspect(file: &Path) -> Result<Contents, Error> {
    let connection = sqlite::connect_to_read(file)?;
    sqlite::check_integrity(&connection, "integrity_check")?;
    let schema = schema_of(&connection, file)?;
    let count = |table: &TableOf| {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).map_err(sqlite::failed)?;
        Ok((table.name.clone(), u64::try_from(count).unwrap_or_default()))
    };
    let rows = tables(&connection)?.iter().map(count).collect::<Result<_, Error>>()?;
    Ok(Contents { schema, head: sqlite::head(&connection)?, rows })
}

pub fn schema(file: &Path) -> Result<i64, Error> {
    schema_of(&sqlite::connect_to_read(file)?, file)
}

/// The number of events in a file; zero without tables. Refused if it has tables that are not ours.
pub fn events(file: &Path) -> Result<u64, Error> {
    let connection = sqlite::connect_to_read(file)?;
    let any = "SELECT count(*) FROM sqlite_schema";
    if sqlite::all(&connection, any, &[], |row| row.int(0))? == [0] {
        return Ok(0);
    }
    schema_of(&connection, file)?;
    Ok(sqlite::head(&connection)?.position)
}

/// A file's schema version, if this version of Folkmoot knows it.
pub(crate) fn schema_of(connection: &Connection, file: &Path) -> Result<i64, Error> {
    let taken = sqlite::taken(connection)?;
    if taken.is_empty() {
        return Err(Error::Schema(format!("{} holds no data of Folkmoot", file.display())));
    }
    migrate::missing(&taken)?;
    Ok(taken.last().map_or(0, |(version, _)| *version))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableOf {
    pub name: String,
    pub columns: Vec<(String, ColumnType)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Int,
    Text,
    Bytes,
}

impl TableOf {
    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn tables(connection: &Connection) -> Result<Vec<TableOf>, Error> {
    let sql =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let names = sqlite::all(connection, sql, &[], |row| row.text(0))?;
    names
        .into_iter()
        .map(|name| {
            let sql = format!("SELECT name, type FROM pragma_table_info('{name}') ORDER BY cid");
            let columns = sqlite::all(connection, &sql, &[], |row| Ok((row.text(0)?, row.text(1)?)))?;
            let columns = columns
                .into_iter()
                .map(|(column, kind)| match kind.as_str() {
                    "INTEGER" => Ok((column, ColumnType::Int)),
                    "TEXT" => Ok((column, ColumnType::Text)),
                    "BLOB" => Ok((column, ColumnType::Bytes)),
                    other => Err(Error::Schema(format!("{name}.{column} is {other}, which no table of ours has"))),
                })
                .collect::<Result<_, Error>>()?;
            Ok(TableOf { name, columns })
        })
        .collect()
}
