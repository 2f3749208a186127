//! What can be asked of records.

use serde::Serialize;
use serde_json::Value;

use crate::{Name, RunId};

/// Which records.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordQuery {
    /// Only of this collection; of any where it is empty.
    pub collection: String,
    /// Only of these runs; of any where none is named.
    pub runs: Vec<RunId>,
    /// Only of runs that this principal started.
    pub initiated_by: Option<Name>,
    /// Only these; any where none is named.
    pub ids: Vec<String>,
    /// Only those of which each of these fields has one of these values.
    pub fields: Vec<(&'static str, Vec<Value>)>,
    /// Only those whose text of this name was not erased.
    pub with_text: Option<&'static str>,
    pub order: RecordOrder,
    /// At most so many.
    pub limit: u32,
}

/// In which order, and from where on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum RecordOrder {
    /// As they were written, only those after this place.
    Place { after: Option<u64> },
    /// By their ids as bytes, only those after this one.
    Id { after: Option<String> },
    /// The newest first.
    Newest,
}

impl Default for RecordOrder {
    fn default() -> Self {
        Self::Place { after: None }
    }
}

/// A view over records that a workflow brings, so that people can query them with SQL as a table.
///
/// It reads `record_fields`, which has the columns of a record, with `fields` and `texts` as JSON:
/// `CAST(fields ->> 'round' AS INTEGER)`. One text serves both databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub name: &'static str,
    /// The `SELECT` that it is.
    pub sql: &'static str,
}
