//! Questions on the wire.

use folkmoot_core::{
    Deadline, Name, Presence, QuestionId, RunId, Scope, SessionId, Timeout, Timestamp,
    question::{self, AtTimeout, Closure, Priority, QuestionStatus, QuestionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Asks. `type` and `text` are needed.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"type": "DECISION", "text": "Which database?", "options": ["SQLite", "PostgreSQL"]}))]
pub struct Ask {
    /// The agent that asks; your own name unless you speak for another.
    pub agent_id: Option<Name>,
    /// The run that asks: it must be yours and not over, and the question ends with it.
    pub run_id: Option<RunId>,
    /// The session it works in; its run's unless it is given.
    pub session_id: Option<SessionId>,
    /// What sort of question. BLOCKING and ESCALATION halt the agent, APPROVAL its session too,
    /// EMERGENCY everyone.
    #[serde(rename = "type")]
    pub question_type: QuestionType,
    /// What is asked.
    pub text: String,
    /// What can be answered; anything unless it is given. An APPROVAL takes only `approve` or
    /// `deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What its timeout answers. Not for APPROVAL and EMERGENCY.
    pub default: Option<Value>,
    /// How long until it expires with its default, or reminds.
    pub timeout_ms: Option<Timeout>,
    /// Widens what the type halts; never narrows it.
    pub halts: Option<Scope>,
    /// What is looked at first; by its type unless it is given.
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
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"answer": "SQLite", "reason": "one node is enough"}))]
pub struct Answer {
    /// One of its options, or anything where it has none.
    pub answer: Value,
    pub reason: Option<String>,
}

/// Denies, skips or cancels a question.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "not needed any more"}))]
pub struct WithReason {
    pub reason: Option<String>,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Question {
    /// Unique across everything.
    pub id: QuestionId,
    /// Where it is in its life.
    pub status: QuestionStatus,
    /// The agent that asks.
    pub agent_id: Name,
    /// The run that asks.
    pub run_id: Option<RunId>,
    /// The session it works in.
    pub session_id: Option<SessionId>,
    /// What sort of question.
    #[serde(rename = "type")]
    pub question_type: QuestionType,
    /// What is asked; `null` if it was erased.
    pub text: Option<String>,
    /// What can be answered; anything where this is empty.
    pub options: Vec<String>,
    /// What its timeout answers.
    pub default: Option<Value>,
    /// How far it halts work while it is open.
    pub halts: Option<Scope>,
    /// What is looked at first.
    pub priority: Priority,
    /// Whose token asked.
    pub asked_by: Name,
    pub asked_at: Timestamp,
    /// How long until it expires, or reminds.
    pub timeout_ms: Timeout,
    /// The first moment too late for an answer; `null` where it waits for ever.
    pub deadline: Deadline,
    /// When it reminds next, where it does.
    pub remind_at: Option<Timestamp>,
    /// How often it has reminded.
    pub reminders: u32,
    /// What was answered; its default where it expired with one.
    pub answer: Option<Value>,
    /// Who closed it, when and why.
    pub closed: Option<Closed>,
}

/// How a question was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Closed {
    /// The word.
    pub status: QuestionStatus,
    /// What was answered.
    pub answer: Option<Value>,
    /// Who; `timeout` where it was the clock.
    pub by: Name,
    pub at: Timestamp,
    pub reason: String,
    /// When the asker fetched a denial, or somebody released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
    /// Who released a denial that the asker had not fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Name>,
    /// How it was shown that a person said it; nothing where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuestionListParams {
    /// Only these.
    pub status: Option<QuestionStatus>,
    /// Only of this agent.
    pub agent: Option<Name>,
    /// Only those that this principal asked, under whatever name.
    pub asked_by: Option<Name>,
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Pending questions of all askers in turn: the most urgent one of each, then the second of
    /// each. Without other filters, and without a next page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaved: bool,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// At most so many; 50 unless it is given.
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
