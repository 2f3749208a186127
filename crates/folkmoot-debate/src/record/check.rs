//! Checks the records of a debate before they are stored.

use std::time::Duration;

use folkmoot_core::{Refusal, record::TEXT_BYTES_MAX, text};
use serde_json::Value;

use super::{DebateRecord, LessonRecord, LogLine, SessionRecord, TurnRecord, VersionRecord};

/// The longest JSON of a record, in bytes.
pub const JSON_BYTES_MAX: usize = 1 << 20;

/// The longest word for a topology, a style, a language or a tag, in bytes.
const WORD_BYTES_MAX: usize = 64;
/// The most tags of a lesson.
const TAGS_MAX: usize = 32;
/// A hundred years, which is longer than anybody waits.
const MILLIS_MAX: u64 = 100 * 366 * 24 * 3600 * 1000;

/// Refuses a record that cannot be stored. Rules for all records are checked in core.
pub(super) fn check(record: &DebateRecord) -> Result<(), Refusal> {
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
            text::check_filled("topic", topic, TEXT_BYTES_MAX)?;
            check_word("topology", topology)?;
            check_word("coordination_protocol", coordination_protocol)?;
            outcome.as_ref().map_or(Ok(()), |outcome| check_json("outcome", outcome))?;
            check_json("config", config)?;
            check_json("metadata", metadata)
        }
        DebateRecord::Turn(turn) => {
            let TurnRecord { id, provider, model, content, response_time_ms, .. } = turn.as_ref();
            check_uuid("id", id)?;
            text::check_filled("provider", provider, text::TITLE_BYTES_MAX)?;
            text::check_filled("model", model, text::TITLE_BYTES_MAX)?;
            text::check("content", content, TEXT_BYTES_MAX)?;
            if *response_time_ms > MILLIS_MAX {
                return Err(Refusal::invalid("response_time_ms", "is more than a hundred years"));
            }
            let json = [
                ("tool_calls", &turn.tool_calls),
                ("test_results", &turn.test_results),
                ("reflections", &turn.reflections),
                ("metadata", &turn.metadata),
            ];
            json.into_iter().try_for_each(|(field, value)| check_json(field, value))
        }
        DebateRecord::Version(version) => {
            let VersionRecord { id, turn_id, language, code, version_number, metrics, diff_from_previous, .. } =
                version.as_ref();
            check_uuid("id", id)?;
            turn_id.as_ref().map_or(Ok(()), |turn| check_uuid("turn_id", turn))?;
            text::check_filled("language", language, WORD_BYTES_MAX)?;
            text::check("code", code, TEXT_BYTES_MAX)?;
            text::check("diff_from_previous", diff_from_previous, TEXT_BYTES_MAX)?;
            if *version_number == 0 {
                return Err(Refusal::invalid("version_number", "is 0; versions are counted from 1"));
            }
            check_json("metrics", metrics)
        }
        DebateRecord::Line(LogLine { message, data, expires_after, .. }) => {
            text::check("message", message, text::REASON_BYTES_MAX)?;
            if expires_after.is_some_and(|span| span > Duration::from_millis(MILLIS_MAX)) {
                return Err(Refusal::invalid("expires_after", "is more than a hundred years; leave it out"));
            }
            check_json("data", data)
        }
        DebateRecord::Lesson(LessonRecord { id, language, root_cause, lesson, tags, .. }) => {
            check_uuid("id", id)?;
            language.as_ref().map_or(Ok(()), |word| text::check_filled("language", word, WORD_BYTES_MAX))?;
            text::check_filled("root_cause", root_cause, text::REASON_BYTES_MAX)?;
            text::check_filled("lesson", lesson, text::REASON_BYTES_MAX)?;
            if tags.len() > TAGS_MAX {
                return Err(Refusal::invalid("tags", format!("are {}; at most {TAGS_MAX} are allowed", tags.len())));
            }
            tags.iter().try_for_each(|tag| text::check_filled("tags", tag, WORD_BYTES_MAX))
        }
    }
}

fn check_json(field: &'static str, value: &Value) -> Result<(), Refusal> {
    let written = text::json(field, value)?;
    if text::holds_nul(value) {
        return Err(Refusal::invalid(field, "holds the character U+0000, which cannot be stored; remove it"));
    }
    text::check(field, &written, JSON_BYTES_MAX)
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
