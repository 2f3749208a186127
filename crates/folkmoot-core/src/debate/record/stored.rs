//! Rows as they are kept: plain columns, and the digests of texts, which are artifacts.

use serde::Serialize;
use serde_json::Value;

use super::{
    DebateRecord, DebateTable, LessonRecord, LogLevel, LogLine, RecordNote, SessionRecord, TurnRecord, VersionRecord,
    uuid,
};
use crate::{
    AgentRole, Artifact, Deadline, DebatePhase, Digest, Domain, Name, RunId, Timestamp, agent::Share, canonical,
};

/// A row of a debate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredRow {
    Session(Box<StoredSession>),
    /// A turn.
    Turn(Box<StoredTurn>),
    /// A version of code.
    Version(Box<StoredVersion>),
    /// A line.
    Line(Box<StoredLine>),
    /// A lesson.
    Lesson(Box<StoredLesson>),
}

/// How far a debate is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredSession {
    pub run_id: RunId,
    /// Where it was written: see [`StoredTurn::place`].
    pub place: u64,
    /// What is debated.
    pub topic: Digest,
    /// Who hears whom.
    pub topology: String,
    pub coordination_protocol: String,
    /// JSON.
    pub config: Option<Digest>,
    /// How many rounds are over.
    pub total_rounds: u32,
    /// How far they agreed.
    pub final_consensus_score: Option<Share>,
    /// JSON.
    pub outcome: Option<Digest>,
    /// JSON.
    pub metadata: Option<Digest>,
    /// When it was written.
    pub at: Timestamp,
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredTurn {
    pub run_id: RunId,
    /// A UUID.
    pub id: String,
    /// Where it was written: the event in the run's stream, and which of its records. Later ones
    /// are higher.
    pub place: u64,
    pub round: u32,
    pub phase: DebatePhase,
    pub agent_id: Name,
    /// As what.
    pub agent_role: AgentRole,
    /// Who runs the model.
    pub provider: String,
    pub model: String,
    pub content: Digest,
    /// How sure the agent was.
    pub confidence: Option<Share>,
    /// JSON.
    pub tool_calls: Option<Digest>,
    /// JSON.
    pub test_results: Option<Digest>,
    /// JSON.
    pub reflections: Option<Digest>,
    /// JSON.
    pub metadata: Option<Digest>,
    /// How long the answer took.
    pub response_time_ms: u64,
    /// When it was written.
    pub at: Timestamp,
}

/// A version of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredVersion {
    pub run_id: RunId,
    /// A UUID.
    pub id: String,
    /// Where it was written: see [`StoredTurn::place`].
    pub place: u64,
    /// The turn that wrote it.
    pub turn_id: Option<String>,
    /// In which language.
    pub language: String,
    /// All of it.
    pub code: Digest,
    /// From 1, in its debate.
    pub version_number: u32,
    /// How good it was judged to be.
    pub quality_score: Option<Share>,
    /// How many of its tests passed.
    pub test_pass_rate: Option<Share>,
    /// JSON.
    pub metrics: Option<Digest>,
    /// What changed.
    pub diff_from_previous: Option<Digest>,
    /// When it was written.
    pub at: Timestamp,
}

/// A line, with its text: one goes with the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredLine {
    pub run_id: RunId,
    /// A UUID.
    pub id: String,
    /// Where it was written: see [`StoredTurn::place`].
    pub place: u64,
    /// How grave it is.
    pub level: LogLevel,
    pub message: String,
    /// JSON.
    pub data: Option<String>,
    /// When it was written.
    pub at: Timestamp,
    /// When it may be forgotten.
    pub expires_at: Deadline,
}

/// A lesson.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredLesson {
    /// Of which debate.
    pub run_id: RunId,
    /// A UUID.
    pub id: String,
    /// Where it was written: see [`StoredTurn::place`].
    pub place: u64,
    /// Where it holds.
    pub domain: Domain,
    /// For code in this language.
    pub language: Option<String>,
    /// What had gone wrong.
    pub root_cause: Digest,
    /// What to do about it.
    pub lesson: Digest,
    /// How sure that is.
    pub confidence: Share,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// When it was written.
    pub at: Timestamp,
}

/// More than an event has records.
const PLACES: u64 = 1024;
const _: () = assert!(super::RECORDS_MAX < PLACES as usize);

/// Where the first record of event `seq` of a run is written.
pub(super) fn place(seq: u64) -> u64 {
    seq * PLACES
}

/// The rows and texts of what is kept with event `seq` of a run.
pub(crate) fn stored(
    run: &RunId,
    seq: u64,
    records: &[DebateRecord],
    at: Timestamp,
) -> (Vec<StoredRow>, Vec<Artifact>) {
    let mut texts = Texts::default();
    let rows = (place(seq)..).zip(records).map(|(place, record)| texts.store(run, place, record, at)).collect();
    (rows, texts.0)
}

#[derive(Default)]
struct Texts(Vec<Artifact>);

impl Texts {
    fn store(&mut self, run: &RunId, place: u64, record: &DebateRecord, at: Timestamp) -> StoredRow {
        let run_id = run.clone();
        match record {
            DebateRecord::Session(session) => {
                let SessionRecord { topology, coordination_protocol, total_rounds, final_consensus_score, .. } =
                    session;
                StoredRow::Session(Box::new(StoredSession {
                    run_id,
                    place,
                    topic: self.text(&session.topic),
                    topology: topology.clone(),
                    coordination_protocol: coordination_protocol.clone(),
                    config: self.json(&session.config),
                    total_rounds: *total_rounds,
                    final_consensus_score: *final_consensus_score,
                    outcome: session.outcome.as_ref().and_then(|outcome| self.json(outcome)),
                    metadata: self.json(&session.metadata),
                    at,
                }))
            }
            DebateRecord::Turn(turn) => {
                let TurnRecord { id, round, phase, agent_id, agent_role, provider, model, confidence, .. } =
                    turn.as_ref();
                StoredRow::Turn(Box::new(StoredTurn {
                    run_id,
                    id: id.clone(),
                    place,
                    round: *round,
                    phase: *phase,
                    agent_id: agent_id.clone(),
                    agent_role: *agent_role,
                    provider: provider.clone(),
                    model: model.clone(),
                    content: self.text(&turn.content),
                    confidence: *confidence,
                    tool_calls: self.json(&turn.tool_calls),
                    test_results: self.json(&turn.test_results),
                    reflections: self.json(&turn.reflections),
                    metadata: self.json(&turn.metadata),
                    response_time_ms: turn.response_time_ms,
                    at,
                }))
            }
            DebateRecord::Version(version) => {
                let VersionRecord { id, turn_id, language, version_number, quality_score, test_pass_rate, .. } =
                    version.as_ref();
                let diff = Some(&version.diff_from_previous).filter(|diff| !diff.is_empty());
                StoredRow::Version(Box::new(StoredVersion {
                    run_id,
                    id: id.clone(),
                    place,
                    turn_id: turn_id.clone(),
                    language: language.clone(),
                    code: self.text(&version.code),
                    version_number: *version_number,
                    quality_score: *quality_score,
                    test_pass_rate: *test_pass_rate,
                    metrics: self.json(&version.metrics),
                    diff_from_previous: diff.map(|diff| self.text(diff)),
                    at,
                }))
            }
            DebateRecord::Line(LogLine { level, message, data, expires_after }) => {
                StoredRow::Line(Box::new(StoredLine {
                    id: uuid(&[run.as_str(), "line", &place.to_string()]),
                    run_id,
                    place,
                    level: *level,
                    message: message.clone(),
                    data: (!data.is_null()).then(|| data.to_string()),
                    at,
                    expires_at: expires_after.map_or(Deadline::Never, |span| Deadline::At(at.plus(span))),
                }))
            }
            DebateRecord::Lesson(LessonRecord { id, domain, language, root_cause, lesson, confidence, tags }) => {
                StoredRow::Lesson(Box::new(StoredLesson {
                    run_id,
                    id: id.clone(),
                    place,
                    domain: *domain,
                    language: language.clone(),
                    root_cause: self.text(root_cause),
                    lesson: self.text(lesson),
                    confidence: *confidence,
                    tags: tags.clone(),
                    at,
                }))
            }
        }
    }

    fn text(&mut self, text: &str) -> Digest {
        let artifact = Artifact::new(text.as_bytes().to_vec());
        let digest = artifact.digest;
        self.0.push(artifact);
        digest
    }

    /// Nothing is kept of null.
    fn json(&mut self, value: &Value) -> Option<Digest> {
        (!value.is_null()).then(|| self.text(&value.to_string()))
    }
}

impl StoredRow {
    /// Whose it is.
    pub fn run_id(&self) -> &RunId {
        match self {
            StoredRow::Session(row) => &row.run_id,
            StoredRow::Turn(row) => &row.run_id,
            StoredRow::Version(row) => &row.run_id,
            StoredRow::Line(row) => &row.run_id,
            StoredRow::Lesson(row) => &row.run_id,
        }
    }

    /// Where people find it.
    pub fn table(&self) -> DebateTable {
        match self {
            StoredRow::Session(_) => DebateTable::Sessions,
            StoredRow::Turn(_) => DebateTable::Turns,
            StoredRow::Version(_) => DebateTable::Versions,
            StoredRow::Line(_) => DebateTable::Logs,
            StoredRow::Lesson(_) => DebateTable::Lessons,
        }
    }

    /// Which one it is in its debate: what is kept again under this replaces what was there.
    pub fn id(&self) -> String {
        match self {
            StoredRow::Session(row) => row.run_id.to_string(),
            StoredRow::Turn(row) => row.id.clone(),
            StoredRow::Version(row) => row.version_number.to_string(),
            StoredRow::Line(row) => row.id.clone(),
            StoredRow::Lesson(row) => row.id.clone(),
        }
    }

    /// What the log says of it.
    pub fn note(&self) -> RecordNote {
        let says = match self {
            StoredRow::Session(row) => serde_json::to_value(row),
            StoredRow::Turn(row) => serde_json::to_value(row),
            StoredRow::Version(row) => serde_json::to_value(row),
            StoredRow::Line(row) => serde_json::to_value(row),
            StoredRow::Lesson(row) => serde_json::to_value(row),
        };
        let says = says.expect("structs of texts and integers are JSON");
        let says = canonical::canonical(&says).expect("columns have plain names, and their numbers are integers");
        RecordNote {
            table: self.table(),
            id: self.id(),
            digest: Digest::of(says.as_bytes()),
            contents: self.contents(),
            fleeting: matches!(self, StoredRow::Line(row) if row.expires_at != Deadline::Never),
        }
    }

    /// The texts that it shows.
    fn contents(&self) -> Vec<Digest> {
        let contents = match self {
            StoredRow::Session(row) => vec![Some(row.topic), row.config, row.outcome, row.metadata],
            StoredRow::Turn(row) => {
                vec![Some(row.content), row.tool_calls, row.test_results, row.reflections, row.metadata]
            }
            StoredRow::Version(row) => vec![Some(row.code), row.metrics, row.diff_from_previous],
            StoredRow::Line(_) => Vec::new(),
            StoredRow::Lesson(row) => vec![Some(row.root_cause), Some(row.lesson)],
        };
        contents.into_iter().flatten().collect()
    }
}
