//! Migrations: numbered, embedded, checksummed, forward only.

use folkmoot_core::Digest;

use crate::Error;

/// One step of the schema.
pub(crate) struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// All steps, in order.
pub(crate) const ALL: &[Migration] =
    &[Migration { version: 1, name: "schema", sql: include_str!("../migrations/0001_schema.sql") }];

/// Where the steps that were taken are recorded.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS migrations (
  version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)";

impl Migration {
    pub(crate) fn checksum(&self) -> String {
        Digest::of(self.sql.as_bytes()).to_string()
    }
}

/// The version of a database on which all steps were taken.
pub(crate) fn newest() -> i64 {
    ALL.last().map_or(0, |step| step.version)
}

/// The steps that were taken, if they are the ones that this version knows.
pub(crate) fn known(taken: &[(i64, String)]) -> Result<&'static [Migration], Error> {
    missing(taken)?;
    Ok(&ALL[..taken.len()])
}

/// The steps that are still to be taken, given those that were.
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

/// What PostgreSQL says otherwise, in the order in which it is replaced: how the bytes of an
/// artifact are read, its JSON (SQLite takes any word with TEXT in it for text), 64-bit integers,
/// its word for blobs, and text that sorts by bytes.
const POSTGRES: [(&str, &str); 6] = [
    ("CAST(content AS JSON_TEXT)", "CAST(convert_from(content, 'UTF8') AS jsonb)"),
    ("CAST(content AS TEXT)", "convert_from(content, 'UTF8')"),
    (" AS JSON_TEXT)", " AS jsonb)"),
    ("INTEGER", "BIGINT"),
    ("BLOB", "BYTEA"),
    (" TEXT", " TEXT COLLATE \"C\""),
];

/// The same text for PostgreSQL.
pub(crate) fn for_postgres(sql: &str) -> String {
    POSTGRES.iter().fold(sql.to_owned(), |sql, (ours, theirs)| sql.replace(ours, theirs))
}
