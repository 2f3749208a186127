//! What a debate keeps, so that people can ask for it: its session, turns, versions of code, log
//! lines and lessons.
//!
//! ```text
//! keep(kind, payload, [Record]) ─▶ judge ─┬▶ an event: the payload, and a Note of each row
//!                                         ├▶ a row each (Stored): plain columns, digests of texts
//!                                         └▶ the texts, as artifacts under those digests
//! ```
//!
//! A [`RecordNote`] has the digest of all that its row says, so that a row can be compared with the
//! log although its texts may have been erased since. What is kept again under the same id replaces
//! what was there; the log has both.

mod check;
mod correct;
mod note;
mod stored;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

pub use check::{CONTENT_BYTES_MAX, JSON_BYTES_MAX, KEPT_BYTES_MAX, RECORDS_MAX};
pub(crate) use check::{check, refuse_told};
pub use correct::Correction;
pub(crate) use correct::LESSON_CORRECTED;
pub use note::{DebateTable, RecordNote};
pub(crate) use note::{contents, notes, told};
pub(crate) use stored::stored;
pub use stored::{StoredLesson, StoredLine, StoredRow, StoredSession, StoredTurn, StoredVersion};

use crate::{AgentRole, DebatePhase, Domain, Name, RunId, Timestamp, agent::Share};

/// A row that is written together with an event of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DebateRecord {
    /// How far the debate is; the last one stands.
    Session(SessionRecord),
    /// What one agent said.
    Turn(Box<TurnRecord>),
    /// Code at a milestone.
    Version(Box<VersionRecord>),
    /// A line for whoever looks into it.
    Line(LogLine),
    /// What later debates may be shown.
    Lesson(LessonRecord),
}

/// What a debate says of itself. Its ids, its initiator, its status and its times are its run's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRecord {
    /// What is debated.
    pub topic: String,
    /// Who hears whom, in a word: `graph_mesh`, `star`, `chain`, `tree`.
    pub topology: String,
    /// Who plans, in a word: `cpde`, `dpde`, `adaptive`.
    pub coordination_protocol: String,
    /// As it was configured.
    pub config: Value,
    /// How many rounds are over.
    pub total_rounds: u32,
    /// How far they agreed at the end.
    pub final_consensus_score: Option<Share>,
    /// Winner, voting method, confidence, once there are any.
    pub outcome: Option<Value>,
    /// Whatever else is to be known.
    pub metadata: Value,
}

/// What one agent said in one phase of one round. Where there is nothing to say, JSON is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnRecord {
    /// A UUID; [`uuid`] makes one that is the same each time.
    pub id: String,
    pub round: u32,
    pub phase: DebatePhase,
    pub agent_id: Name,
    /// As what.
    pub agent_role: AgentRole,
    /// Who runs the model.
    pub provider: String,
    pub model: String,
    pub content: String,
    /// How sure the agent was, where it said so.
    pub confidence: Option<Share>,
    /// What it called, and what came of it.
    pub tool_calls: Value,
    /// What tests gave.
    pub test_results: Value,
    /// What it learnt from failing.
    pub reflections: Value,
    /// Prompt, usage, whatever else is provenance.
    pub metadata: Value,
    /// How long the answer took.
    pub response_time_ms: u64,
}

/// Code at a milestone. Its number names it: a version that is kept again under its number replaces
/// the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionRecord {
    /// A UUID.
    pub id: String,
    /// The turn that wrote it.
    pub turn_id: Option<String>,
    /// In which language.
    pub language: String,
    /// All of it.
    pub code: String,
    /// From 1, in its debate.
    pub version_number: u32,
    /// How good it was judged to be.
    pub quality_score: Option<Share>,
    /// How many of its tests passed.
    pub test_pass_rate: Option<Share>,
    /// Maintainability, complexity, security and the like.
    pub metrics: Value,
    /// What changed; empty for the first.
    pub diff_from_previous: String,
}

/// A line for whoever looks into a debate. No prompt and no answer belongs here: its text cannot be
/// erased by its digest, and goes only with the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// How grave it is.
    pub level: LogLevel,
    pub message: String,
    /// With what.
    pub data: Value,
    /// After so long it is forgotten; never where nobody says.
    pub expires_after: Option<Duration>,
}

/// What a debate learnt, and later ones may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LessonRecord {
    /// A UUID.
    pub id: String,
    /// Where it holds.
    pub domain: Domain,
    /// For code in this language; for anything where nobody says.
    pub language: Option<String>,
    /// What had gone wrong.
    pub root_cause: String,
    /// What to do about it.
    pub lesson: String,
    /// How sure that is.
    pub confidence: Share,
    /// Words to find it by.
    pub tags: Vec<String>,
}

/// What an earlier debate learnt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RememberedLesson {
    pub debate: RunId,
    pub at: Timestamp,
    pub learned: LessonRecord,
}

vocabulary! {
    /// How serious a line of a debate's log is.
    pub enum LogLevel {
        /// For whoever writes workflows.
        Debug = "debug",
        /// Something went as it should.
        Info = "info",
        /// Something did not, and it went on.
        Warn = "warn",
        /// Something failed.
        Error = "error",
    }
}

vocabulary! {
    /// Where a debate is in its life, as `debate_sessions` says it.
    pub enum DebateStatus {
        /// No worker has taken it yet.
        Pending = "pending",
        /// It is worked on, or waits for something that needs nobody.
        Running = "running",
        /// It goes on when somebody has decided, answered, lifted a halt, or looked at it.
        Paused = "paused",
        /// It reached its end.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
    }
}

/// A UUID (RFC 9562, version 8) that is the same for the same parts and no others: SHA-256 over
/// each part's length and bytes. Begin with the run's id, so that no other debate has the same.
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
