//! Checks of records before they are kept.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{NewRecord, note::MEMBER};
use crate::{Refusal, canonical, text};

/// The longest text of a record, in bytes.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// The longest JSON of all fields of a record, in bytes.
pub const FIELDS_BYTES_MAX: usize = 4 << 20;
/// The maximum length of all records of one event together, in bytes.
pub const KEPT_BYTES_MAX: usize = 16 << 20;
/// The maximum number of records of one event.
pub const RECORDS_MAX: usize = 64;

/// The longest name of a collection, a field or a text, in bytes.
const WORD_BYTES_MAX: usize = 64;
/// The longest id, in bytes.
const ID_BYTES_MAX: usize = 200;
/// The longest time after which a record may expire: a hundred years.
const EXPIRES_AFTER_MAX: Duration = Duration::from_secs(100 * 366 * 24 * 3600);
/// The members that [`RecordView::read`](super::RecordView::read) adds to the fields.
const ADDED: [&str; 3] = ["run_id", "place", "at"];

/// Refuses records that cannot be kept; otherwise returns how many bytes they have.
pub(crate) fn check(records: &[NewRecord]) -> Result<u64, Refusal> {
    if records.len() > RECORDS_MAX {
        let problem = format!("are {}; at most {RECORDS_MAX} are kept with one event", records.len());
        return Err(Refusal::invalid("records", problem));
    }
    let bytes = records.iter().map(check_one).sum::<Result<usize, Refusal>>()?;
    if bytes > KEPT_BYTES_MAX {
        let problem = format!("have {bytes} bytes; at most {KEPT_BYTES_MAX} are kept with one event");
        return Err(Refusal::invalid("records", problem));
    }
    Ok(bytes as u64)
}

/// Refuses a payload that already has the member in which Folkmoot writes which records were kept.
pub(crate) fn refuse_records_member(payload: &str) -> Result<(), Refusal> {
    if serde_json::from_str::<Map<String, Value>>(payload).is_ok_and(|payload| payload.contains_key(MEMBER)) {
        let problem = format!("has a member `{MEMBER}`, in which Folkmoot says what was kept; call it otherwise");
        return Err(Refusal::invalid("payload", problem));
    }
    Ok(())
}

fn check_one(record: &NewRecord) -> Result<usize, Refusal> {
    let NewRecord { collection, id, fields, texts, expires_after } = record;
    check_word("collection", collection)?;
    id.as_ref().map_or(Ok(()), |id| text::check_filled("id", id, ID_BYTES_MAX))?;
    if expires_after.is_some_and(|span| span > EXPIRES_AFTER_MAX) {
        return Err(Refusal::invalid("expires_after", "is more than a hundred years; leave it out"));
    }
    for name in fields.keys() {
        check_word("fields", name)?;
        if ADDED.contains(&name.as_str()) || texts.contains_key(name) {
            let problem = format!("have {name:?}, which a record has already; call it otherwise");
            return Err(Refusal::invalid("fields", problem));
        }
    }
    let written = check_fields(fields)?;
    for (name, content) in texts {
        check_word("texts", name)?;
        text::check("texts", content, TEXT_BYTES_MAX)?;
    }
    Ok(written + texts.values().map(String::len).sum::<usize>())
}

/// Refuses fields that cannot be kept; otherwise returns the length of their JSON.
fn check_fields(fields: &Map<String, Value>) -> Result<usize, Refusal> {
    let fields = Value::Object(fields.clone());
    text::json("fields", &fields)?;
    if text::holds_nul(&fields) {
        return Err(Refusal::invalid("fields", "hold the character U+0000, which cannot be stored; remove it"));
    }
    // Each database reads back a number that is not an integer differently.
    let Some(written) = canonical::canonical(&fields) else {
        let problem = "have a number that is no integer, or a name that is not ASCII; write it as text";
        return Err(Refusal::invalid("fields", problem));
    };
    text::check("fields", &written, FIELDS_BYTES_MAX)?;
    Ok(written.len())
}

fn check_word(field: &'static str, word: &str) -> Result<(), Refusal> {
    text::check_filled(field, word, WORD_BYTES_MAX)?;
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Ok(());
    }
    Err(Refusal::invalid(field, format!("{word:?} is no word of a to z, 0 to 9 and _")))
}
