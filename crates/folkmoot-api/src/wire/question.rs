//! Questions on the wire.

use folkmoot_core::{
    Deadline, Name, Presence, QuestionId, RunId, Scope, SessionId, Timeout, Timestamp, principal,
    question::{self, AtTimeout, Closure, Priority, QuestionStatus, QuestionType},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// Asks a question. Only `type` and `text` are required.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"type": "DECISION", "text": "Which database?", "options": ["SQLite", "PostgreSQL"]}))]
pub struct Ask {
    /// The agent that asks; by default you.
    pub agent_id: Option<Name>,
    /// The run that asks. It must be yours and not over. The question is closed when the run ends,
    /// unless it halts somebody and an agent ended the run.
    pub run_id: Option<RunId>,
    /// The session in which the agent works; by default the run's.
    pub session_id: Option<SessionId>,
    /// The type of question. BLOCKING and ESCALATION halt the agent, APPROVAL also its session,
    /// EMERGENCY everyone.
    #[serde(rename = "type")]
    pub question_type: QuestionType,
    pub text: String,
    /// The possible answers; by default any answer. An APPROVAL takes only `approve` or `deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The answer that a timeout gives. Not for APPROVAL and EMERGENCY.
    pub default: Option<Value>,
    /// How long until the question expires. A halting question without a default never expires; it
    /// sends a reminder each time instead.
    pub timeout_ms: Option<Timeout>,
    /// Halts more than the type does. It cannot halt less.
    pub halts: Option<Scope>,
    /// Questions of a higher priority are listed first; the default depends on the type.
    pub priority: Option<Priority>,
}

impl Ask {
    /// A question with only a type and a text.
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
    /// One of the question's options, or any JSON if it has none.
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
    pub id: QuestionId,
    pub status: QuestionStatus,
    pub agent_id: Name,
    pub run_id: Option<RunId>,
    /// The session in which the agent works.
    pub session_id: Option<SessionId>,
    /// The type of question.
    #[serde(rename = "type")]
    pub question_type: QuestionType,
    /// The text of the question; `null` if it was erased.
    pub text: Option<String>,
    /// The possible answers; empty if any answer is possible.
    pub options: Vec<String>,
    /// The answer that a timeout gives.
    pub default: Option<Value>,
    /// Whom the question halts while it is open; `null` if nobody.
    pub halts: Option<Scope>,
    /// Questions of a higher priority are listed first.
    pub priority: Priority,
    /// The principal that asked, from the token; `workflow:NAME` if a workflow asked in a run.
    pub asked_by: Name,
    /// The principal that started the run; absent if the question has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Name>,
    pub asked_at: Timestamp,
    /// How long until the question expires, or until each reminder.
    pub timeout_ms: Timeout,
    /// From this moment on the question cannot be answered; `null` if it waits forever.
    pub deadline: Deadline,
    /// When the next reminder is due, if the question has reminders.
    pub remind_at: Option<Timestamp>,
    /// The number of reminders so far.
    pub reminders: u32,
    /// The answer; the default if the question expired with one.
    pub answer: Option<Value>,
    /// How, when, why and by whom the question was closed.
    pub closed: Option<Closed>,
}

/// How a question was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Closed {
    pub status: QuestionStatus,
    pub answer: Option<Value>,
    /// The principal that closed it; `timeout` if it expired.
    pub by: Name,
    pub at: Timestamp,
    pub reason: String,
    /// For a denial: when the asker fetched it, or when somebody released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
    /// For a denial that the asker had not fetched: who released it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Name>,
    /// How the request showed that a person sent it; absent if no person closed the question.
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
    /// Who really asks: whoever started the run if its workflow asked, and otherwise the principal
    /// that asked.
    pub fn asker(&self) -> &Name {
        principal::asker(&self.asked_by, self.initiator.as_ref())
    }

    /// A question with its text.
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
            initiator: question.initiator,
            asked_at: question.asked_at,
            timeout_ms: question.timeout,
            reminders: question.reminders,
            answer: closed.as_ref().and_then(|closure| closure.answer.clone()),
            closed: closed.map(Closed::from),
        }
    }
}

/// Which questions to list. Pending questions are sorted by priority, due time and age, others
/// newest first.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct QuestionListParams {
    /// Only questions with this status.
    pub status: Option<QuestionStatus>,
    /// Only questions of this agent.
    pub agent: Option<Name>,
    /// Only questions that this principal asked, for any agent, or a workflow in a run that it
    /// started. `workflow:NAME` means the questions of that workflow in all runs.
    pub asked_by: Option<Name>,
    /// Only questions of this run.
    pub run: Option<RunId>,
    /// Only questions of this session.
    pub session: Option<SessionId>,
    /// Lists pending questions of all askers in turn: first the most urgent one of each, then the
    /// second of each. Questions of a workflow count as those of whoever started the run. It allows
    /// no other filter, and there is no next page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaved: bool,
    /// Cuts each text after about 400 bytes, so that the list is short however long the texts are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of questions; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of questions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct QuestionList {
    pub questions: Vec<Question>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}
