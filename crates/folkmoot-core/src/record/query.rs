//! Queries of records.

use serde::Serialize;
use serde_json::Value;

use crate::{Name, RunId};

/// Which records to return.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordQuery {
    /// Only records of this collection; of any if it is empty.
    pub collection: String,
    /// Only records of these runs; of any if this is empty.
    pub runs: Vec<RunId>,
    /// Only records of runs that this principal started.
    pub initiated_by: Option<Name>,
    /// Only records with these ids; any if this is empty.
    pub ids: Vec<String>,
    /// Only records in which each of these fields has one of its values.
    pub fields: Vec<(&'static str, Vec<Value>)>,
    /// Only records whose text of this name was not erased.
    pub with_text: Option<&'static str>,
    pub order: RecordOrder,
    /// The maximum number of records.
    pub limit: u32,
}

/// In which order to return records, and where to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum RecordOrder {
    /// As they were written, beginning after this place.
    Place { after: Option<u64> },
    /// By their ids, compared as bytes, beginning after this one.
    Id { after: Option<String> },
    /// The newest first.
    Newest,
}

impl Default for RecordOrder {
    fn default() -> Self {
        Self::Place { after: None }
    }
}

/// A view over records that a workflow defines, so that people can query them with SQL as a table.
///
/// It reads `record_fields`, which has the columns of a record, with `fields` and `texts` as JSON:
/// `CAST(fields ->> 'round' AS INTEGER)`. One text serves both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub name: &'static str,
    /// Its `SELECT` statement.
    pub sql: &'static str,
}
