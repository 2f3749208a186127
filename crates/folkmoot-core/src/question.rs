//! A question: what an agent asks of people. A halting one stops work until it is closed.
//!
//! ```text
//!           ┌─remind─┐
//!           ▼        │
//!   ask ─▶ Pending ──┘
//!           ├──answer──▶ answered
//!           ├──deny────▶ denied ──fetch · release──▶ denied, and holds nobody
//!           ├──skip────▶ skipped
//!           ├──cancel──▶ cancelled
//!           └──timeout─▶ expired, with its default where it has one
//! ```
//!
//! A halting question without a default never expires: it reminds. A denial authorises nothing: if
//! the question halts, it goes on holding its asker until the asker has fetched the denial, or a
//! reviewer or admin has released the asker. Agents never answer, and nobody answers what they
//! asked themselves.

mod action;
mod ask;
mod close;
mod commit;
mod event;
mod fetch;
mod policy;
mod remind;
#[cfg(test)]
mod tests;
mod timeout;
mod timer;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use action::{Action, Loaded};
pub use ask::NewQuestion;
pub(crate) use ask::{ask_as, shown_contents};
pub(crate) use close::withdraw;
pub use close::{Close, Reply};
pub use event::{QuestionEvent, RefusedAttempt};
pub(crate) use fetch::release;
pub use policy::{QuestionPolicy, TypeDefaults};
pub(crate) use timeout::time_out;

use crate::{
    Deadline, Digest, Hold, HoldId, Name, Presence, Principal, QuestionId, Refusal, Role, RunId, Scope, SessionId,
    Timeout, Timestamp,
};

/// A question as stored in its row, which is exactly the fold of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique across everything.
    pub id: QuestionId,
    /// The agent that asks.
    pub agent_id: Name,
    /// The run for which it was asked, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The session that the agent works in, if there is one.
    pub session_id: Option<SessionId>,
    #[serde(rename = "type")]
    pub question_type: QuestionType,
    /// The digest of the question's text. The text itself is an artifact.
    pub text: Digest,
    /// The possible answers. If this is empty, any answer is possible.
    pub options: Vec<String>,
    /// The answer that counts if nobody answers before the timeout.
    pub default: Option<Value>,
    /// How far it halts work while it is open; `None` if it does not.
    pub halts: Option<Scope>,
    pub priority: Priority,
    /// The principal that asked.
    pub asked_by: Name,
    /// Who started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Name>,
    pub asked_at: Timestamp,
    /// The time until its timeout, and between reminders.
    pub timeout: Timeout,
    /// When its timeout, or the next reminder, is due.
    pub due: Deadline,
    /// How often it has reminded.
    pub reminders: u32,
    /// How many events its stream has.
    pub seq: u64,
    pub state: QuestionState,
}

/// Where a question is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionState {
    Pending,
    Closed(Closure),
}

/// How a question was closed, by whom, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closure {
    pub status: QuestionStatus,
    /// The answer; for an expired question its default.
    pub answer: Option<Value>,
    /// Who closed it, as the credential says; `timeout` for a timeout.
    pub by: Name,
    pub at: Timestamp,
    pub reason: String,
    /// When the asker fetched a denial, or somebody released it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_at: Option<Timestamp>,
    /// Who released a denial that its asker had not fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_by: Option<Name>,
    /// How it was shown that a person closed it; `None` if no person did, and in data of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
}

impl Question {
    pub fn status(&self) -> QuestionStatus {
        match &self.state {
            QuestionState::Pending => QuestionStatus::Pending,
            QuestionState::Closed(closure) => closure.status,
        }
    }

    /// How it was closed, once it is closed.
    pub fn closure(&self) -> Option<&Closure> {
        match &self.state {
            QuestionState::Pending => None,
            QuestionState::Closed(closure) => Some(closure),
        }
    }

    /// Its hold. A halting question holds everything that it halts while it is open, and only its
    /// asker after a denial that was not fetched. Otherwise there is none.
    pub fn hold(&self) -> Option<Hold> {
        let halts = self.halts?;
        let (scope, denied) = match &self.state {
            QuestionState::Pending => (halts, false),
            QuestionState::Closed(Closure { status: QuestionStatus::Denied, fetched_at: None, .. }) => {
                (Scope::Agent, true)
            }
            QuestionState::Closed(_) => return None,
        };
        Some(Hold {
            id: HoldId::Question(self.id.clone()),
            scope,
            agent_id: Some(self.agent_id.clone()),
            session_id: self.session_id.clone().filter(|_| scope >= Scope::Session),
            since: self.asked_at,
            question_type: Some(self.question_type),
            denied,
            by: self.asked_by.clone(),
            reason: None,
        })
    }

    /// What its timeout does.
    pub fn at_timeout(&self) -> AtTimeout {
        if self.default.is_some() {
            AtTimeout::Default
        } else if self.halts.is_some() || self.question_type.keeps_waiting() {
            AtTimeout::Remind
        } else {
            AtTimeout::Expire
        }
    }

    /// The first moment that is too late for an answer.
    pub fn deadline(&self) -> Deadline {
        match self.at_timeout() {
            AtTimeout::Default | AtTimeout::Expire => self.due,
            AtTimeout::Remind => Deadline::Never,
        }
    }

    /// Whether this principal asked it, or is the agent for which it was asked. A person who later
    /// got that agent's name did not ask.
    pub fn is_asked_by(&self, principal: &Principal) -> bool {
        let is_agent = principal.role == Role::Agent && self.agent_id == principal.name;
        self.asked_by == principal.name || is_agent
    }

    /// Whether this principal may see it. Agents see only their own.
    pub fn may_be_seen_by(&self, principal: &Principal) -> bool {
        principal.role.sees_everything() || self.is_asked_by(principal)
    }

    fn must_be_open(&self, now: Timestamp) -> Result<(), Refusal> {
        match &self.state {
            QuestionState::Closed(closure) => {
                Err(Refusal::QuestionClosed { question: self.id.clone(), closure: Box::new(closure.clone()) })
            }
            QuestionState::Pending if self.deadline().has_passed(now) => {
                Err(Refusal::QuestionExpired { question: self.id.clone() })
            }
            QuestionState::Pending => Ok(()),
        }
    }
}

/// What a question's timeout does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtTimeout {
    /// It answers with the default.
    Default,
    /// It reminds, and goes on waiting.
    Remind,
    /// It closes without an answer.
    Expire,
}

vocabulary! {
    /// What sort of question it is.
    pub enum QuestionType {
        /// The agent cannot go on without an answer.
        Blocking = "BLOCKING",
        /// Asks what was meant.
        Clarifying = "CLARIFYING",
        /// Asks whether something is right.
        Confirming = "CONFIRMING",
        /// Asks what people prefer.
        Preference = "PREFERENCE",
        /// Tells people something.
        Alert = "ALERT",
        /// Somebody must look at something.
        Escalation = "ESCALATION",
        /// Asks for permission. The answer is `approve` or `deny`, and the session waits for it.
        Approval = "APPROVAL",
        /// Asks how to go on.
        Decision = "DECISION",
        /// Everything stops.
        Emergency = "EMERGENCY",
    }
}

impl QuestionType {
    /// How far a question of this type halts work by itself.
    pub fn halts(self) -> Option<Scope> {
        match self {
            QuestionType::Blocking | QuestionType::Escalation => Some(Scope::Agent),
            QuestionType::Approval => Some(Scope::Session),
            QuestionType::Emergency => Some(Scope::All),
            QuestionType::Clarifying
            | QuestionType::Confirming
            | QuestionType::Preference
            | QuestionType::Alert
            | QuestionType::Decision => None,
        }
    }

    /// Whether it may have a default, which counts if nobody answers.
    pub fn may_have_default(self) -> bool {
        !matches!(self, QuestionType::Approval | QuestionType::Emergency)
    }

    /// Whether "answer all with their defaults" may answer it too.
    pub fn is_answered_in_bulk(self) -> bool {
        match self {
            QuestionType::Blocking
            | QuestionType::Clarifying
            | QuestionType::Confirming
            | QuestionType::Preference
            | QuestionType::Alert => true,
            QuestionType::Escalation | QuestionType::Approval | QuestionType::Decision | QuestionType::Emergency => {
                false
            }
        }
    }

    /// Whether it goes on waiting at its timeout even if it halts nobody.
    fn keeps_waiting(self) -> bool {
        self == QuestionType::Decision
    }

    fn priority(self) -> Priority {
        match self {
            QuestionType::Emergency => Priority::Critical,
            QuestionType::Approval | QuestionType::Escalation | QuestionType::Blocking => Priority::High,
            QuestionType::Decision | QuestionType::Confirming | QuestionType::Clarifying => Priority::Medium,
            QuestionType::Preference | QuestionType::Alert => Priority::Low,
        }
    }
}

vocabulary! {
    /// What is looked at first, the least first.
    pub enum Priority {
        Low = "low",
        Medium = "medium",
        High = "high",
        Critical = "critical",
    }
}

vocabulary! {
    /// Where a question is in its life, in one word.
    pub enum QuestionStatus {
        Pending = "pending",
        Answered = "answered",
        Denied = "denied",
        /// Somebody chose not to answer.
        Skipped = "skipped",
        /// Nobody closed it before its timeout.
        Expired = "expired",
        /// It was withdrawn.
        Cancelled = "cancelled",
    }
}
