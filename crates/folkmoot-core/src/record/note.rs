//! What the log says of rows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CorruptLog, Digest, Event, Fact, Refusal, event::EventKind};

/// Under which name an event tells of the rows that were kept with it.
pub(super) const MEMBER: &str = "records";

/// What an event of the log says of one row: its digest, and the content that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordNote {
    pub collection: String,
    /// Which one, in its run.
    pub id: String,
    /// Of the canonical JSON of all that the row says.
    pub digest: Digest,
    /// The texts that the row shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contents: Vec<Digest>,
    /// It goes when its time is over, and is not missed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fleeting: bool,
}

/// The payload of an event, and in it what is kept with it.
pub(crate) fn told(payload: &str, notes: &[RecordNote]) -> Result<String, Refusal> {
    if notes.is_empty() {
        return Ok(payload.to_owned());
    }
    let no_object = |_| Refusal::invalid("payload", "is no JSON object; one is needed to keep records with it");
    let mut fields: Map<String, Value> = serde_json::from_str(payload).map_err(no_object)?;
    fields.insert(MEMBER.to_owned(), serde_json::to_value(notes).expect("structs of texts are JSON"));
    Ok(Value::Object(fields).to_string())
}

/// The rows that a run should have, by what its events say, in order of collection and id.
pub(crate) fn notes<'a>(facts: impl Iterator<Item = &'a Fact>) -> Result<Vec<RecordNote>, CorruptLog> {
    let mut last = BTreeMap::new();
    for fact in facts {
        for note in of(fact)? {
            last.insert((note.collection.clone(), note.id.clone()), note);
        }
    }
    Ok(last.into_values().collect())
}

/// All texts that records of a run show or have shown.
pub(crate) fn contents(events: &[Event]) -> BTreeSet<Digest> {
    events.iter().filter_map(|event| of(&event.fact).ok()).flatten().flat_map(|note| note.contents).collect()
}

fn of(fact: &Fact) -> Result<Vec<RecordNote>, CorruptLog> {
    #[derive(Deserialize)]
    struct RecordNotesPayload {
        #[serde(default)]
        records: Vec<RecordNote>,
    }
    // Anything but an object tells of nothing.
    if EventKind::is_ours(&fact.kind) || !fact.payload.trim_start().starts_with('{') {
        return Ok(Vec::new());
    }
    CorruptLog::parse::<RecordNotesPayload>(fact).map(|told| told.records)
}
