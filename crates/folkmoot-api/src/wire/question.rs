//! Questions on the wire.

use folkmoot_core::{
    Deadline, Name, Presence, QuestionId, RunId, Scope, SessionId, Timeout, Timestamp,
    question::{self, AtTimeout, Closure, Priority, QuestionStatus, QuestionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::schema;

/// Asks. `type` and `text` are needed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"type": "DECISION", "text": "Which database?", "options": ["SQLite", "PostgreSQL"]}))]
pub struct Ask {
    /// The agent that asks; your own name unless you speak for another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_name)]
    pub agent_id: Option<Name>,
    /// The run that asks: it must be yours and not over, and the question ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_run_id)]
    pub run_id: Option<RunId>,
    /// The session it works in; its run's unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_session_id)]
    pub session_id: Option<SessionId>,
    /// What sort of question. BLOCKING and ESCALATION halt the agent, APPROVAL its session too,
    /// EMERGENCY everyone.
    #[serde(rename = "type")]
    #[schema(schema_with = schema::question_type)]
    pub question_type: QuestionType,
    /// What is asked.
    pub text: String,
    /// What can be answered; anything unless it is given. An APPROVAL takes only `approve` or
    /// `deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What its timeout answers. Not for APPROVAL and EMERGENCY.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub default: Option<Value>,
    /// How long until it expires with its default, or reminds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_timeout)]
    pub timeout_ms: Option<Timeout>,
    /// Widens what the type halts; never narrows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_scope)]
    pub halts: Option<Scope>,
    /// What is looked at first; by its type unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_priority)]
    pub priority: Option<Priority>,
}

impl Ask {
    /// A question with nothing but its type and text.
    pub fn new(question_type: QuestionType, text: impl Into<String>) -> Self {
        Self {
            agent_id: None,
            run_id: None,
            session_id: None,
            question_type,
            text: text.into(),
            options: Vec::new(),
            default: None,
            timeout_ms: None,
            halts: None,
            priority: None,
        }
    }
}

/// Answers a question.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"answer": "SQLite", "reason": "one node is enough"}))]
pub struct Answer {
    /// One of its options, or anything where it has none.
    #[schema(value_type = Value)]
    pub answer: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Denies, skips or cancels a question.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "not needed any more"}))]
pub struct WithReason {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// Unique across everything.
    #[schema(value_type = String)]
    pub id: QuestionId,
    /// Where it is in its life.
    #[schema(schema_with = schema::question_status)]
    pub status: QuestionStatus,
    /// The agent that asks.
    #[schema(value_type = String)]
    pub agent_id: Name,
    /// The run that asks.
    #[schema(value_type = Option<String>)]
    pub run_id: Option<RunId>,
    /// The session it works in.
    #[schema(value_type = Option<String>)]
    pub session_id: Option<SessionId>,
    /// What sort of question.
    #[serde(rename = "type")]
    #[schema(schema_with = schema::question_type)]
    pub question_type: QuestionType,
    /// What is asked; `null` if it was erased.
    pub text: Option<String>,
    /// What can be answered; anything where this is empty.
    pub options: Vec<String>,
    /// What its timeout answers.
    #[schema(value_type = Option<Value>)]
    pub default: Option<Value>,
    /// How far it halts work while it is open.
    #[schema(schema_with = schema::maybe_scope)]
    pub halts: Option<Scope>,
    /// What is looked at first.
    #[schema(schema_with = schema::priority)]
    pub priority: Priority,
    /// Whose token asked.
    #[schema(value_type = String)]
    pub asked_by: Name,
    #[schema(value_type = String, format = DateTime)]
    pub asked_at: Timestamp,
    /// How long until it expires, or reminds.
    #[schema(schema_with = schema::timeout)]
    pub timeout_ms: Timeout,
    /// The first moment too late for an answer; `null` where it waits for ever.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deadline: Deadline,
    /// When it reminds next, where it does.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub remind_at: Option<Timestamp>,
    /// How often it has reminded.
    pub reminders: u32,
    /// What was answered; its default where it expired with one.
    #[schema(value_type = Option<Value>)]
    pub answer: Option<Value>,
    /// Who closed it, when and why.
    pub closed: Option<Closed>,
}

/// How a question was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Closed {
    /// The word.
    #[schema(schema_with = schema::question_status)]
    pub status: QuestionStatus,
    /// What was answered.
    #[schema(value_type = Option<Value>)]
    pub answer: Option<Value>,
    /// Who; `timeout` where it was the clock.
    #[schema(value_type = String)]
    pub by: Name,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub reason: String,
    /// When the asker fetched a denial, or somebody released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub fetched_at: Option<Timestamp>,
    /// Who released a denial that the asker had not fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub released_by: Option<Name>,
    /// How it was shown that a person said it; nothing where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = schema::maybe_presence)]
    pub presence: Option<Presence>,
}

impl From<Closure> for Closed {
    fn from(closure: Closure) -> Self {
        let Closure { status, answer, by, at, reason, fetched_at, released_by, presence } = closure;
        Self { status, answer, by, at, reason, fetched_at, released_by, presence }
    }
}

impl Question {
    /// A question, and what it asks.
    pub fn new(question: question::Question, text: Option<String>) -> Self {
        let closed = question.closure().cloned();
        let reminds = closed.is_none() && question.at_timeout() == AtTimeout::Remind;
        Self {
            status: question.status(),
            deadline: question.deadline(),
            remind_at: question.due.moment().filter(|_| reminds),
            id: question.id,
            agent_id: question.agent_id,
            run_id: question.run_id,
            session_id: question.session_id,
            question_type: question.question_type,
            text,
            options: question.options,
            default: question.default,
            halts: question.halts,
            priority: question.priority,
            asked_by: question.asked_by,
            asked_at: question.asked_at,
            timeout_ms: question.timeout,
            reminders: question.reminders,
            answer: closed.as_ref().and_then(|closure| closure.answer.clone()),
            closed: closed.map(Closed::from),
        }
    }
}

/// Which questions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuestionListParams {
    /// Only these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(schema_with = schema::question_status)]
    pub status: Option<QuestionStatus>,
    /// Only of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(schema_with = schema::name)]
    pub agent: Option<Name>,
    /// Only those that this principal asked, under whatever name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(schema_with = schema::name)]
    pub asked_by: Option<Name>,
    /// Only of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(schema_with = schema::run_id)]
    pub run: Option<RunId>,
    /// Only of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(schema_with = schema::session_id)]
    pub session: Option<SessionId>,
    /// Where the last page ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many; 50 unless it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of questions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QuestionList {
    /// In order.
    pub questions: Vec<Question>,
    /// Where the next page begins.
    pub next: Option<String>,
}
