//! What may be kept.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{DebateRecord, LessonRecord, LogLine, SessionRecord, TurnRecord, VersionRecord, note::MEMBER};
use crate::{
    Refusal,
    run::{Run, RunKind},
    text,
};

/// The longest text of a record, in bytes.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;
/// The longest JSON of a record, in bytes.
pub const JSON_BYTES_MAX: usize = 1 << 20;
/// The longest all texts that are kept with one event can be together, in bytes.
pub const KEPT_BYTES_MAX: usize = 16 << 20;
/// The most records with one event.
pub const RECORDS_MAX: usize = 64;

/// The longest word for a topology, a style, a language or a tag, in bytes.
const WORD_BYTES_MAX: usize = 64;
/// The most tags of a lesson.
const TAGS_MAX: usize = 32;
/// Longer than anybody waits: a hundred years.
const MILLIS_MAX: u64 = 100 * 366 * 24 * 3600 * 1000;

/// Refuses records that cannot be kept; otherwise says how many bytes all their texts have.
pub(crate) fn check(run: &Run, records: &[DebateRecord]) -> Result<u64, Refusal> {
    if records.is_empty() {
        return Ok(0);
    }
    if run.start.kind != RunKind::Debate {
        let problem = format!("are kept by debates only, and this is a run of the kind {}", run.start.kind);
        return Err(Refusal::invalid("records", problem));
    }
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

/// Refuses a debate's event that says itself what only Folkmoot says: which rows were kept with it.
pub(crate) fn refuse_told(run: &Run, payload: &str) -> Result<(), Refusal> {
    let tells = |payload| serde_json::from_str::<Map<String, Value>>(payload).is_ok_and(|it| it.contains_key(MEMBER));
    if run.start.kind == RunKind::Debate && tells(payload) {
        let problem = format!("has a member `{MEMBER}`, in which Folkmoot says what was kept; call it otherwise");
        return Err(Refusal::invalid("payload", problem));
    }
    Ok(())
}

fn check_one(record: &DebateRecord) -> Result<usize, Refusal> {
    match record {
        DebateRecord::Session(SessionRecord {
            topic,
            topology,
            coordination_protocol,
            config,
            outcome,
            metadata,
            ..
        }) => {
            text::check_filled("topic", topic, CONTENT_BYTES_MAX)?;
            check_word("topology", topology)?;
            check_word("coordination_protocol", coordination_protocol)?;
            let outcome = outcome.as_ref().map_or(Ok(0), |outcome| check_json("outcome", outcome))?;
            Ok(topic.len() + outcome + check_json("config", config)? + check_json("metadata", metadata)?)
        }
        DebateRecord::Turn(turn) => {
            let TurnRecord { id, provider, model, content, response_time_ms, .. } = turn.as_ref();
            check_uuid("id", id)?;
            text::check_filled("provider", provider, text::TITLE_BYTES_MAX)?;
            text::check_filled("model", model, text::TITLE_BYTES_MAX)?;
            text::check("content", content, CONTENT_BYTES_MAX)?;
            if *response_time_ms > MILLIS_MAX {
                return Err(Refusal::invalid("response_time_ms", "is more than a hundred years"));
            }
            let json = [
                ("tool_calls", &turn.tool_calls),
                ("test_results", &turn.test_results),
                ("reflections", &turn.reflections),
                ("metadata", &turn.metadata),
            ];
            let json = json.into_iter().map(|(field, value)| check_json(field, value));
            Ok(content.len() + json.sum::<Result<usize, Refusal>>()?)
        }
        DebateRecord::Version(version) => {
            let VersionRecord { id, turn_id, language, code, version_number, metrics, diff_from_previous, .. } =
                version.as_ref();
            check_uuid("id", id)?;
            turn_id.as_ref().map_or(Ok(()), |turn| check_uuid("turn_id", turn))?;
            text::check_filled("language", language, WORD_BYTES_MAX)?;
            text::check("code", code, CONTENT_BYTES_MAX)?;
            text::check("diff_from_previous", diff_from_previous, CONTENT_BYTES_MAX)?;
            if *version_number == 0 {
                return Err(Refusal::invalid("version_number", "is 0; versions are counted from 1"));
            }
            Ok(code.len() + diff_from_previous.len() + check_json("metrics", metrics)?)
        }
        DebateRecord::Line(LogLine { message, data, expires_after, .. }) => {
            text::check("message", message, text::REASON_BYTES_MAX)?;
            if expires_after.is_some_and(|span| span > Duration::from_millis(MILLIS_MAX)) {
                return Err(Refusal::invalid("expires_after", "is more than a hundred years; leave it out"));
            }
            Ok(message.len() + check_json("data", data)?)
        }
        DebateRecord::Lesson(LessonRecord { id, language, root_cause, lesson, tags, .. }) => {
            check_uuid("id", id)?;
            language.as_ref().map_or(Ok(()), |word| text::check_filled("language", word, WORD_BYTES_MAX))?;
            text::check_filled("root_cause", root_cause, text::REASON_BYTES_MAX)?;
            text::check_filled("lesson", lesson, text::REASON_BYTES_MAX)?;
            if tags.len() > TAGS_MAX {
                return Err(Refusal::invalid("tags", format!("are {}; at most {TAGS_MAX} are allowed", tags.len())));
            }
            tags.iter().try_for_each(|tag| text::check_filled("tags", tag, WORD_BYTES_MAX))?;
            Ok(root_cause.len() + lesson.len())
        }
    }
}

/// The length of some JSON that can be kept.
fn check_json(field: &'static str, value: &Value) -> Result<usize, Refusal> {
    let written = text::json(field, value)?;
    if text::holds_nul(value) {
        return Err(Refusal::invalid(field, "holds the character U+0000, which cannot be stored; remove it"));
    }
    text::check(field, &written, JSON_BYTES_MAX)?;
    Ok(written.len())
}

fn check_word(field: &'static str, word: &str) -> Result<(), Refusal> {
    text::check_filled(field, word, WORD_BYTES_MAX)?;
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
        return Ok(());
    }
    Err(Refusal::invalid(field, format!("{word:?} is no word of a to z, 0 to 9 and _")))
}

fn check_uuid(field: &'static str, id: &str) -> Result<(), Refusal> {
    let fits = |(n, byte): (usize, u8)| match n {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    if id.len() == 36 && id.bytes().enumerate().all(fits) {
        return Ok(());
    }
    Err(Refusal::invalid(field, format!("{:?} is no UUID in lower case", text::shortened(id, 80))))
}
