//! Notes: what the log says about the rows of records.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CorruptLog, Digest, Event, Fact, Refusal, event::EventKind};

/// The member of an event's payload that has the notes of the records that were kept with it.
pub(super) const MEMBER: &str = "records";

/// What an event says about the row of one record: its digest, and the texts that it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordNote {
    pub collection: String,
    /// The id of the record in its run and collection.
    pub id: String,
    /// The digest of the canonical JSON of the whole row.
    pub digest: Digest,
    /// The digests of the record's texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Digest>,
    /// Whether the row expires, so that it is no problem if it is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fleeting: bool,
}

/// The payload of an event, with the notes of the records that are kept with it.
pub(crate) fn told(payload: &str, notes: &[RecordNote]) -> Result<String, Refusal> {
    if notes.is_empty() {
        return Ok(payload.to_owned());
    }
    let no_object = |_| Refusal::invalid("payload", "is no JSON object; one is needed to keep records with it");
    let mut fields: Map<String, Value> = serde_json::from_str(payload).map_err(no_object)?;
    fields.insert(MEMBER.to_owned(), serde_json::to_value(notes).expect("structs of texts are JSON"));
    Ok(Value::Object(fields).to_string())
}

/// The notes of the rows that a run should have according to its events, in the order of collection
/// and id.
pub(crate) fn notes<'a>(facts: impl Iterator<Item = &'a Fact>) -> Result<Vec<RecordNote>, CorruptLog> {
    let mut last = BTreeMap::new();
    for fact in facts {
        for note in of(fact)? {
            last.insert((note.collection.clone(), note.id.clone()), note);
        }
    }
    Ok(last.into_values().collect())
}

/// The digests of all texts that records of a run have or had.
pub(crate) fn contents(events: &[Event]) -> BTreeSet<Digest> {
    events.iter().filter_map(|event| of(&event.fact).ok()).flatten().flat_map(|note| note.contents).collect()
}

fn of(fact: &Fact) -> Result<Vec<RecordNote>, CorruptLog> {
    #[derive(Deserialize)]
    struct RecordNotesPayload {
        #[serde(default)]
        records: Vec<RecordNote>,
    }
    // A payload that is not an object has no notes.
    if EventKind::is_ours(&fact.kind) || !fact.payload.trim_start().starts_with('{') {
        return Ok(Vec::new());
    }
    CorruptLog::parse::<RecordNotesPayload>(fact).map(|told| told.records)
}
