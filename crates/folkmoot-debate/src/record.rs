//! The records that a debate keeps so that people can query them: its session, turns, versions of
//! code, log lines and lessons. Each belongs to the debate's run.

mod check;
mod query;
#[cfg(test)]
mod tests;
mod views;

use std::time::Duration;

use folkmoot_core::{Name, NewRecord, Refusal, vocabulary};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use check::JSON_BYTES_MAX;
pub use folkmoot_core::{record::uuid, run::SummaryStatus as DebateStatus};
pub use query::{
    DebateView, LessonQuery, LessonView, LineQuery, LineView, SessionView, TurnQuery, TurnView, VersionQuery,
    VersionView, session_query, turn_query,
};
pub use views::VIEWS;

use crate::{AgentRole, DebatePhase, Domain, agent::Share};

/// The collections of a debate. All but lessons are read through a view of the same name.
pub mod collection {
    pub const SESSIONS: &str = "debate_sessions";
    pub const TURNS: &str = "debate_turns";
    pub const VERSIONS: &str = "code_versions";
    pub const LINES: &str = "debate_logs";
    pub const LESSONS: &str = "lessons";
}

/// A row that is written together with an event of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DebateRecord {
    /// How far the debate has come; a new one replaces the last.
    Session(SessionRecord),
    /// What one agent said.
    Turn(Box<TurnRecord>),
    /// Code at a milestone.
    Version(Box<VersionRecord>),
    /// A line of the debate's log.
    Line(LogLine),
    /// What later debates may be shown.
    Lesson(LessonRecord),
}

/// What a debate says about itself. Its ids, initiator, status and times are those of its run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionRecord {
    pub topic: String,
    /// Who hears whom: `graph_mesh`, `star`, `chain` or `tree`.
    pub topology: String,
    /// Who plans: `cpde`, `dpde` or `adaptive`.
    pub coordination_protocol: String,
    /// As it was configured.
    pub config: Value,
    /// How many rounds are over.
    pub total_rounds: u32,
    /// How far the agents agreed at the end.
    pub final_consensus_score: Option<Share>,
    /// Winner, voting method and confidence, once there are any.
    pub outcome: Option<Value>,
    /// Anything else that is worth knowing.
    pub metadata: Value,
}

/// What one agent said in one phase of one round. JSON fields without data are null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnRecord {
    /// A UUID; [`uuid`] makes one that is the same each time.
    pub id: String,
    pub round: u32,
    pub phase: DebatePhase,
    pub agent_id: Name,
    pub agent_role: AgentRole,
    /// Who runs the model.
    pub provider: String,
    pub model: String,
    pub content: String,
    /// The agent's confidence, if it stated one.
    pub confidence: Option<Share>,
    /// The tools that it called, and their results.
    pub tool_calls: Value,
    pub test_results: Value,
    /// What it learned from failing.
    pub reflections: Value,
    /// Prompt, usage and other provenance.
    pub metadata: Value,
    pub response_time_ms: u64,
}

/// Code at a milestone. Its number identifies it: a version that is stored under the same number
/// replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionRecord {
    /// A UUID.
    pub id: String,
    /// The turn that wrote it.
    pub turn_id: Option<String>,
    pub language: String,
    /// The complete code.
    pub code: String,
    /// Counted from 1 in its debate.
    pub version_number: u32,
    /// How good it was judged to be.
    pub quality_score: Option<Share>,
    /// The share of its tests that passed.
    pub test_pass_rate: Option<Share>,
    /// Maintainability, complexity, security and the like.
    pub metrics: Value,
    /// What changed since the version before; empty for the first.
    pub diff_from_previous: String,
}

/// A line of a debate's log. It must not contain prompts or answers: its text cannot be erased by
/// its digest, but only together with the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: String,
    /// Details of the message.
    pub data: Value,
    /// The line is deleted after this time; `None` means never.
    pub expires_after: Option<Duration>,
}

/// What a debate learned, and later ones may be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LessonRecord {
    /// A UUID.
    pub id: String,
    /// The domain in which it applies.
    pub domain: Domain,
    /// The language to which it applies; `None` means any.
    pub language: Option<String>,
    /// What went wrong.
    pub root_cause: String,
    /// What to do about it.
    pub lesson: String,
    /// How well it is founded.
    pub confidence: Share,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether the rehearsal model spoke in the debate. Other models are not shown what it learned.
    pub rehearsed: bool,
}

vocabulary! {
    /// How serious a line of a debate's log is.
    pub enum LogLevel {
        /// For authors of workflows.
        Debug = "debug",
        /// Something went as it should.
        Info = "info",
        /// Something went wrong, and the debate went on.
        Warn = "warn",
        /// Something failed.
        Error = "error",
    }
}

impl TryFrom<DebateRecord> for NewRecord {
    type Error = Refusal;

    fn try_from(record: DebateRecord) -> Result<Self, Refusal> {
        check::check(&record)?;
        match record {
            DebateRecord::Session(session) => {
                let new = NewRecord::new(collection::SESSIONS, &session)?.id(SESSION_ID);
                Ok(new.texts(&["topic", "config", "outcome", "metadata"]))
            }
            DebateRecord::Turn(turn) => {
                let new = NewRecord::new(collection::TURNS, &turn)?.id(turn.id);
                Ok(new.texts(&["content", "tool_calls", "test_results", "reflections", "metadata"]))
            }
            DebateRecord::Version(version) => {
                let mut new = NewRecord::new(collection::VERSIONS, &version)?.id(version_id(version.version_number));
                if version.diff_from_previous.is_empty() {
                    new.fields.remove("diff_from_previous");
                }
                Ok(new.texts(&["code", "metrics", "diff_from_previous"]))
            }
            DebateRecord::Line(LogLine { level, message, data, expires_after }) => {
                let data = (!data.is_null()).then(|| data.to_string());
                let fields = serde_json::json!({ "level": level, "message": message, "data": data });
                Ok(NewRecord { expires_after, ..NewRecord::new(collection::LINES, &fields)? })
            }
            DebateRecord::Lesson(lesson) => {
                let new = NewRecord::new(collection::LESSONS, &lesson)?.id(lesson.id);
                Ok(new.texts(&["root_cause", "lesson"]))
            }
        }
    }
}

/// A debate has one session record; a new one replaces it.
const SESSION_ID: &str = "session";

/// Padded with zeros, so that ids sort like the numbers.
fn version_id(number: u32) -> String {
    format!("{number:010}")
}
