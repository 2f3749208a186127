//! What debates keep.

use folkmoot_core::{
    Deadline, Digest, Timestamp,
    agent::Share,
    debate::record::{
        DebateStatus, RecordNote, StoredLesson, StoredLine, StoredRow, StoredSession, StoredTurn, StoredVersion,
    },
};

use super::{
    Columns, Conflict, Table,
    Type::{Int, Text},
    Value, from_json, int, json, maybe, parse, parse_maybe, position, read_text, small, text,
};
use crate::{
    Error,
    query::debates::{DebateView, LessonView, TurnView, VersionView},
};

pub(crate) const DEBATES: Table = Table {
    name: "debates",
    conflict: Conflict::Replaces { key: &["run_id"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("place", Int),
        ("topic_digest", Text),
        ("topology", Text),
        ("coordination_protocol", Text),
        ("config_digest", Text),
        ("total_rounds", Int),
        ("final_consensus_score", Int),
        ("outcome_digest", Text),
        ("metadata_digest", Text),
        ("written_at", Int),
    ],
};

pub(crate) const TURNS: Table = Table {
    name: "turns",
    conflict: Conflict::Replaces { key: &["run_id", "id"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("id", Text),
        ("place", Int),
        ("round", Int),
        ("phase", Text),
        ("agent_id", Text),
        ("agent_role", Text),
        ("provider", Text),
        ("model", Text),
        ("content_digest", Text),
        ("confidence", Int),
        ("tool_calls_digest", Text),
        ("test_results_digest", Text),
        ("reflections_digest", Text),
        ("metadata_digest", Text),
        ("response_time_ms", Int),
        ("created_at", Int),
    ],
};

pub(crate) const VERSIONS: Table = Table {
    name: "versions",
    conflict: Conflict::Replaces { key: &["run_id", "version_number"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("version_number", Int),
        ("id", Text),
        ("place", Int),
        ("turn_id", Text),
        ("language", Text),
        ("code_digest", Text),
        ("quality_score", Int),
        ("test_pass_rate", Int),
        ("metrics_digest", Text),
        ("diff_digest", Text),
        ("created_at", Int),
    ],
};

pub(crate) const LINES: Table = Table {
    name: "lines",
    conflict: Conflict::Replaces { key: &["run_id", "place"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("place", Int),
        ("id", Text),
        ("level", Text),
        ("message", Text),
        ("data", Text),
        ("created_at", Int),
        ("expires_at", Int),
    ],
};

pub(crate) const LESSONS: Table = Table {
    name: "lessons",
    conflict: Conflict::Replaces { key: &["run_id", "id"], but: &[] },
    columns: &[
        ("run_id", Text),
        ("id", Text),
        ("place", Int),
        ("domain", Text),
        ("language", Text),
        ("root_cause_digest", Text),
        ("lesson_digest", Text),
        ("confidence", Int),
        ("tags", Text),
        ("created_at", Int),
    ],
};

type ReadStored = fn(&dyn Columns) -> Result<StoredRow, Error>;

/// Every table of what debates keep. The first column of each is the run.
pub(crate) const KEPT: [(&Table, ReadStored); 5] = [
    (&DEBATES, |row| Ok(StoredRow::Session(Box::new(read_session(row, 0)?)))),
    (&TURNS, |row| Ok(StoredRow::Turn(Box::new(read_turn(row)?)))),
    (&VERSIONS, |row| Ok(StoredRow::Version(Box::new(read_version(row)?)))),
    (&LINES, |row| Ok(StoredRow::Line(Box::new(read_line(row)?)))),
    (&LESSONS, |row| Ok(StoredRow::Lesson(Box::new(read_lesson(row)?)))),
];

/// Which table a row belongs to.
pub(crate) fn table_of(stored: &StoredRow) -> &'static Table {
    match stored {
        StoredRow::Session(_) => &DEBATES,
        StoredRow::Turn(_) => &TURNS,
        StoredRow::Version(_) => &VERSIONS,
        StoredRow::Line(_) => &LINES,
        StoredRow::Lesson(_) => &LESSONS,
    }
}

pub(crate) fn stored(stored: &StoredRow) -> Vec<Value<'_>> {
    match stored {
        StoredRow::Session(row) => session(row),
        StoredRow::Turn(row) => turn(row),
        StoredRow::Version(row) => version(row),
        StoredRow::Line(row) => line(row),
        StoredRow::Lesson(row) => lesson(row),
    }
}

/// As the log's fold has them.
pub(crate) fn in_order(mut notes: Vec<RecordNote>) -> Vec<RecordNote> {
    notes.sort_by(|one, other| (one.table, &one.id).cmp(&(other.table, &other.id)));
    notes
}

fn session(row: &StoredSession) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        Value::Int(int(row.place)),
        digest(row.topic),
        text(&row.topology),
        text(&row.coordination_protocol),
        maybe_digest(row.config),
        Value::Int(row.total_rounds.into()),
        share(row.final_consensus_score),
        maybe_digest(row.outcome),
        maybe_digest(row.metadata),
        Value::Int(row.at.as_micros()),
    ]
}

/// The session whose columns begin with the `first`.
fn read_session(row: &dyn Columns, first: usize) -> Result<StoredSession, Error> {
    let n = |column: usize| first + column;
    Ok(StoredSession {
        run_id: parse(&row.text(n(0))?)?,
        place: position(row.int(n(1))?)?,
        topic: parse(&row.text(n(2))?)?,
        topology: row.text(n(3))?,
        coordination_protocol: row.text(n(4))?,
        config: parse_maybe(row.maybe_text(n(5))?)?,
        total_rounds: small(row.int(n(6))?)?,
        final_consensus_score: read_share(row.maybe_int(n(7))?)?,
        outcome: parse_maybe(row.maybe_text(n(8))?)?,
        metadata: parse_maybe(row.maybe_text(n(9))?)?,
        at: Timestamp::from_micros(row.int(n(10))?),
    })
}

fn turn(row: &StoredTurn) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        text(&row.id),
        Value::Int(int(row.place)),
        Value::Int(row.round.into()),
        text(row.phase.word()),
        text(row.agent_id.as_str()),
        text(row.agent_role.word()),
        text(&row.provider),
        text(&row.model),
        digest(row.content),
        share(row.confidence),
        maybe_digest(row.tool_calls),
        maybe_digest(row.test_results),
        maybe_digest(row.reflections),
        maybe_digest(row.metadata),
        Value::Int(int(row.response_time_ms)),
        Value::Int(row.at.as_micros()),
    ]
}

fn read_turn(row: &dyn Columns) -> Result<StoredTurn, Error> {
    Ok(StoredTurn {
        run_id: parse(&row.text(0)?)?,
        id: row.text(1)?,
        place: position(row.int(2)?)?,
        round: small(row.int(3)?)?,
        phase: parse(&row.text(4)?)?,
        agent_id: parse(&row.text(5)?)?,
        agent_role: parse(&row.text(6)?)?,
        provider: row.text(7)?,
        model: row.text(8)?,
        content: parse(&row.text(9)?)?,
        confidence: read_share(row.maybe_int(10)?)?,
        tool_calls: parse_maybe(row.maybe_text(11)?)?,
        test_results: parse_maybe(row.maybe_text(12)?)?,
        reflections: parse_maybe(row.maybe_text(13)?)?,
        metadata: parse_maybe(row.maybe_text(14)?)?,
        response_time_ms: position(row.int(15)?)?,
        at: Timestamp::from_micros(row.int(16)?),
    })
}

fn version(row: &StoredVersion) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        Value::Int(row.version_number.into()),
        text(&row.id),
        Value::Int(int(row.place)),
        maybe(row.turn_id.as_deref()),
        text(&row.language),
        digest(row.code),
        share(row.quality_score),
        share(row.test_pass_rate),
        maybe_digest(row.metrics),
        maybe_digest(row.diff_from_previous),
        Value::Int(row.at.as_micros()),
    ]
}

fn read_version(row: &dyn Columns) -> Result<StoredVersion, Error> {
    Ok(StoredVersion {
        run_id: parse(&row.text(0)?)?,
        version_number: small(row.int(1)?)?,
        id: row.text(2)?,
        place: position(row.int(3)?)?,
        turn_id: row.maybe_text(4)?,
        language: row.text(5)?,
        code: parse(&row.text(6)?)?,
        quality_score: read_share(row.maybe_int(7)?)?,
        test_pass_rate: read_share(row.maybe_int(8)?)?,
        metrics: parse_maybe(row.maybe_text(9)?)?,
        diff_from_previous: parse_maybe(row.maybe_text(10)?)?,
        at: Timestamp::from_micros(row.int(11)?),
    })
}

fn line(row: &StoredLine) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        Value::Int(int(row.place)),
        text(&row.id),
        text(row.level.word()),
        text(&row.message),
        maybe(row.data.as_deref()),
        Value::Int(row.at.as_micros()),
        Value::Int(row.expires_at.as_micros()),
    ]
}

pub(crate) fn read_line(row: &dyn Columns) -> Result<StoredLine, Error> {
    Ok(StoredLine {
        run_id: parse(&row.text(0)?)?,
        place: position(row.int(1)?)?,
        id: row.text(2)?,
        level: parse(&row.text(3)?)?,
        message: row.text(4)?,
        data: row.maybe_text(5)?,
        at: Timestamp::from_micros(row.int(6)?),
        expires_at: Deadline::from_micros(row.int(7)?),
    })
}

fn lesson(row: &StoredLesson) -> Vec<Value<'_>> {
    vec![
        text(row.run_id.as_str()),
        text(&row.id),
        Value::Int(int(row.place)),
        text(row.domain.word()),
        maybe(row.language.as_deref()),
        digest(row.root_cause),
        digest(row.lesson),
        share(Some(row.confidence)),
        json(&row.tags),
        Value::Int(row.at.as_micros()),
    ]
}

fn read_lesson(row: &dyn Columns) -> Result<StoredLesson, Error> {
    let confidence = read_share(Some(row.int(7)?))?;
    Ok(StoredLesson {
        run_id: parse(&row.text(0)?)?,
        id: row.text(1)?,
        place: position(row.int(2)?)?,
        domain: parse(&row.text(3)?)?,
        language: row.maybe_text(4)?,
        root_cause: parse(&row.text(5)?)?,
        lesson: parse(&row.text(6)?)?,
        confidence: confidence.ok_or_else(|| Error::Unreadable("a lesson has no confidence".to_owned()))?,
        tags: from_json(&row.text(8)?)?,
        at: Timestamp::from_micros(row.int(9)?),
    })
}

/// A debate, with what its run says.
pub(crate) fn read_debate(row: &dyn Columns) -> Result<DebateView, Error> {
    const SESSION: usize = 8;
    let texts = SESSION + DEBATES.columns.len();
    let session = match row.maybe_text(SESSION)? {
        Some(_) => Some(read_session(row, SESSION)?),
        None => None,
    };
    let (status, updated_at) = (parse(&row.text(6)?)?, Timestamp::from_micros(row.int(4)?));
    let is_over = matches!(status, DebateStatus::Completed | DebateStatus::Failed | DebateStatus::Cancelled);
    Ok(DebateView {
        id: parse(&row.text(0)?)?,
        session_id: parse(&row.text(1)?)?,
        initiated_by: parse(&row.text(2)?)?,
        created_at: Timestamp::from_micros(row.int(3)?),
        updated_at,
        completed_at: is_over.then_some(updated_at),
        status,
        waiting_at: parse_maybe(row.maybe_text(7)?)?,
        topic: if session.is_some() { read_text(row.maybe_bytes(texts)?)? } else { Some(row.text(5)?) },
        session,
        config: read_json(row, texts + 1)?,
        outcome: read_json(row, texts + 2)?,
        metadata: read_json(row, texts + 3)?,
    })
}

pub(crate) fn read_turn_view(row: &dyn Columns) -> Result<TurnView, Error> {
    let texts = TURNS.columns.len();
    Ok(TurnView {
        turn: read_turn(row)?,
        content: read_text(row.maybe_bytes(texts)?)?,
        tool_calls: read_json(row, texts + 1)?,
        test_results: read_json(row, texts + 2)?,
        reflections: read_json(row, texts + 3)?,
        metadata: read_json(row, texts + 4)?,
    })
}

pub(crate) fn read_version_view(row: &dyn Columns) -> Result<VersionView, Error> {
    let texts = VERSIONS.columns.len();
    Ok(VersionView {
        version: read_version(row)?,
        code: read_text(row.maybe_bytes(texts)?)?,
        metrics: read_json(row, texts + 1)?,
        diff_from_previous: read_text(row.maybe_bytes(texts + 2)?)?,
        author: parse_maybe(row.maybe_text(texts + 3)?)?,
    })
}

pub(crate) fn read_lesson_view(row: &dyn Columns) -> Result<LessonView, Error> {
    let texts = LESSONS.columns.len();
    let lesson = read_lesson(row)?;
    let gone = || Error::Unreadable(format!("lesson {} says nothing", lesson.id));
    Ok(LessonView {
        root_cause: read_text(row.maybe_bytes(texts)?)?,
        text: read_text(row.maybe_bytes(texts + 1)?)?.ok_or_else(gone)?,
        lesson,
    })
}

fn read_json(row: &dyn Columns, column: usize) -> Result<Option<serde_json::Value>, Error> {
    read_text(row.maybe_bytes(column)?)?.map(|text| from_json(&text)).transpose()
}

fn digest(digest: Digest) -> Value<'static> {
    Value::Text(digest.to_string().into())
}

fn maybe_digest(digest: Option<Digest>) -> Value<'static> {
    Value::MaybeText(digest.map(|digest| digest.to_string().into()))
}

fn share(share: Option<Share>) -> Value<'static> {
    Value::MaybeInt(share.map(|share| share.as_hundredths().into()))
}

fn read_share(hundredths: Option<i64>) -> Result<Option<Share>, Error> {
    let read = |n: i64| u8::try_from(n).ok().and_then(|n| Share::hundredths(n).ok());
    let unreadable = |n| Error::Unreadable(format!("{n} is no share: those are hundredths from 0 to 100"));
    hundredths.map(|n| read(n).ok_or_else(|| unreadable(n))).transpose()
}
