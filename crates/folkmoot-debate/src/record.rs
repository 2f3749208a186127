//! What a debate keeps, so that people can ask for it: its session, turns, versions of code, log
//! lines and lessons. Each is a record of its run.

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
    /// Whether the rehearsal spoke in the debate. Models are not shown what it learnt.
    pub rehearsed: bool,
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

/// A debate has one session, and the last one stands.
const SESSION_ID: &str = "session";

/// Sorts as the numbers do.
fn version_id(number: u32) -> String {
    format!("{number:010}")
}
