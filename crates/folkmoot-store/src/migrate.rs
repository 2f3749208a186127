//! Migrations of the schema. They are numbered, embedded in the program and checksummed, and only
//! go forward.

use folkmoot_core::Digest;

use crate::Error;

pub(crate) struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// All migrations, in order.
pub(crate) const ALL: &[Migration] =
    &[Migration { version: 1, name: "schema", sql: include_str!("../migrations/0001_schema.sql") }];

/// The table that records which migrations were applied.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

impl Migration {
    pub(crate) fn checksum(&self) -> String {
        Digest::of(self.sql.as_bytes()).to_string()
    }
}

/// The version of a database to which all migrations were applied.
pub(crate) fn newest() -> i64 {
    ALL.last().map_or(0, |step| step.version)
}

/// The migrations that were applied, if they are those that this version of Folkmoot knows.
pub(crate) fn known(taken: &[(i64, String)]) -> Result<&'static [Migration], Error> {
    missing(taken)?;
    Ok(&ALL[..taken.len()])
}

/// The migrations that are still to be applied, given the version and checksum of those that were.
pub(crate) fn missing(taken: &[(i64, String)]) -> Result<&'static [Migration], Error> {
    for (step, (version, checksum)) in ALL.iter().zip(taken) {
        if step.version != *version || step.checksum() != *checksum {
            return Err(Error::Schema(format!(
                "migration {version} of this database is not the one that this version of Folkmoot knows as {:?}; \
                 use the version that made it",
                step.name
            )));
        }
    }
    if taken.len() > ALL.len() {
        return Err(Error::Schema(format!(
            "this database has schema {}, made by a newer Folkmoot; this version knows up to {}: use the newer one",
            taken.len(),
            ALL.len()
        )));
    }
    Ok(&ALL[taken.len()..])
}

/// Replacements that turn SQLite's SQL into PostgreSQL's, applied in this order: reading the bytes
/// of an artifact, JSON (SQLite treats any type name that contains TEXT as text), 64-bit integers,
/// the type for blobs, and text that sorts by bytes.
const POSTGRES: [(&str, &str); 6] = [
    ("CAST(content AS JSON_TEXT)", "CAST(convert_from(content, 'UTF8') AS jsonb)"),
    ("CAST(content AS TEXT)", "convert_from(content, 'UTF8')"),
    (" AS JSON_TEXT)", " AS jsonb)"),
    ("INTEGER", "BIGINT"),
    ("BLOB", "BYTEA"),
    (" TEXT", " TEXT COLLATE \"C\""),
];

/// The same SQL for PostgreSQL.
pub(crate) fn for_postgres(sql: &str) -> String {
    POSTGRES.iter().fold(sql.to_owned(), |sql, (ours, theirs)| sql.replace(ours, theirs))
}
