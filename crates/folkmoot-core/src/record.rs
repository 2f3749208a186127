//! Records: what a workflow keeps of its run, so that people can query it.
//!
//! ```text
//! keep(kind, payload, [NewRecord]) ─▶ judge ─┬▶ an event: the payload, and a RecordNote of each
//!                                            ├▶ a row each (Record): fields, digests of texts
//!                                            └▶ the texts, as artifacts under those digests
//! ```
//!
//! A [`RecordNote`] has the digest of everything in its row, so that a row can be compared with the
//! log even if its texts were erased since. A record that is kept again under its id replaces the
//! one before; the log has both.

mod check;
mod correct;
mod note;
mod query;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

pub use check::{FIELDS_BYTES_MAX, KEPT_BYTES_MAX, RECORDS_MAX, TEXT_BYTES_MAX};
pub(crate) use check::{check, refuse_records_member};
pub use correct::Correction;
pub(crate) use correct::is_correction;
pub use note::RecordNote;
pub(crate) use note::{contents, notes, told};
pub use query::{RecordOrder, RecordQuery, View};

use crate::{Artifact, Deadline, Digest, Refusal, RunId, Timestamp, canonical};

/// A record that a workflow wants to keep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NewRecord {
    /// What kind of thing it is, in a word such as `attempts`. People find it by this.
    pub collection: String,
    /// Unique in its run and collection. A record without an id replaces no other.
    pub id: Option<String>,
    /// The values by which people query it. Numbers must be integers. They stay as long as the row
    /// does.
    pub fields: Map<String, Value>,
    /// Long texts, by name. They are artifacts, so they can be erased by their digests.
    pub texts: BTreeMap<String, String>,
    /// The row may be deleted after this time; `None` means never.
    pub expires_after: Option<Duration>,
}

/// A record as stored in its row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub run_id: RunId,
    pub collection: String,
    pub id: String,
    /// Where it was written: the number of the event in the run's stream, combined with which of
    /// the event's records it is. Later records have higher places.
    pub place: u64,
    pub fields: Map<String, Value>,
    /// The digests of its texts, by name.
    pub texts: BTreeMap<String, Digest>,
    pub at: Timestamp,
    /// When the row may be deleted.
    pub expires_at: Deadline,
}

/// A record with its texts, without those that were erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordView {
    pub record: Record,
    pub texts: BTreeMap<String, String>,
}

impl NewRecord {
    /// A record with these fields, which must serialize to a JSON object.
    pub fn new(collection: &str, fields: &impl Serialize) -> Result<Self, Refusal> {
        let unfit = |problem: String| Refusal::invalid("fields", problem);
        let fields = match serde_json::to_value(fields).map_err(|error| unfit(format!("are no JSON: {error}")))? {
            Value::Object(fields) => fields,
            other => return Err(unfit(format!("are no JSON object but {other}"))),
        };
        let (collection, texts) = (collection.to_owned(), BTreeMap::new());
        Ok(Self { collection, id: None, fields, texts, expires_after: None })
    }

    /// Sets the id. A record that is kept later under the same id replaces this one.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Turns these fields into texts: a string as it is, and anything else as JSON. A null is
    /// dropped.
    #[must_use]
    pub fn texts(mut self, names: &[&str]) -> Self {
        for name in names {
            match self.fields.remove(*name) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => drop(self.texts.insert((*name).to_owned(), text)),
                Some(value) => drop(self.texts.insert((*name).to_owned(), value.to_string())),
            }
        }
        self
    }
}

/// Lets a function that accepts `TryInto<NewRecord, Error: Into<Refusal>>` accept a [`NewRecord`]
/// itself.
impl From<std::convert::Infallible> for Refusal {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl Record {
    /// What the log says about it.
    pub fn note(&self) -> RecordNote {
        let says = serde_json::to_value(self).expect("fields, texts and integers are JSON");
        // A row that was tampered with may have fields that the checks would have refused. Its
        // digest then matches no note.
        let says = canonical::canonical(&says).unwrap_or_else(|| says.to_string());
        RecordNote {
            collection: self.collection.clone(),
            id: self.id.clone(),
            digest: Digest::of(says.as_bytes()),
            contents: self.texts.values().copied().collect(),
            fleeting: self.expires_at != Deadline::Never,
        }
    }
}

impl RecordView {
    /// Deserializes fields and texts as one object, together with `run_id`, `place` and `at`. A
    /// text that was erased is missing from it.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        let Record { run_id, place, mut fields, at, .. } = self.record;
        fields.extend(self.texts.into_iter().map(|(name, text)| (name, Value::String(text))));
        fields.insert("run_id".to_owned(), Value::from(run_id.as_str()));
        fields.insert("place".to_owned(), Value::from(place));
        fields.insert("at".to_owned(), serde_json::to_value(at)?);
        serde_json::from_value(Value::Object(fields))
    }
}

/// The number of places per event. It is greater than the number of records that an event can have.
const PLACES: u64 = 1024;
const _: () = assert!(RECORDS_MAX < PLACES as usize);

/// The rows and texts of the records that are kept with event `seq` of a run.
pub(crate) fn stored(run: &RunId, seq: u64, records: &[NewRecord], at: Timestamp) -> (Vec<Record>, Vec<Artifact>) {
    let mut texts = Vec::new();
    let mut store = |text: &String| {
        let artifact = Artifact::new(text.as_bytes().to_vec());
        let digest = artifact.digest;
        texts.push(artifact);
        digest
    };
    let row = |(place, new): (u64, &NewRecord)| Record {
        run_id: run.clone(),
        collection: new.collection.clone(),
        id: new.id.clone().unwrap_or_else(|| uuid(&[run.as_str(), &new.collection, &place.to_string()])),
        place,
        fields: new.fields.clone(),
        texts: new.texts.iter().map(|(name, text)| (name.clone(), store(text))).collect(),
        at,
        expires_at: new.expires_after.map_or(Deadline::Never, |span| Deadline::At(at.plus(span))),
    };
    let rows = (seq * PLACES..).zip(records).map(row).collect();
    (rows, texts)
}

/// A UUID (RFC 9562, version 8) that depends only on these parts: it is the SHA-256 of each part's
/// length and bytes. Pass the run's id as the first part, so that no other run gets the same UUID.
pub fn uuid(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut bytes: [u8; 16] = std::array::from_fn({
        let hash = hash.finalize();
        move |n| hash[n]
    });
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = |range: std::ops::Range<usize>| bytes[range].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{}-{}-{}-{}-{}", hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16))
}
