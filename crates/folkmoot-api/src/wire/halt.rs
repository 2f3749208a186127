//! Clearance and halts on the wire.

use std::collections::BTreeMap;

use folkmoot_core::{
    HaltId, Hold, HoldId, Name, QuestionId, Scope, SessionId, Timestamp, clearance::ReleaseReason, halt,
    question::QuestionType,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// The agent whose clearance is checked.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClearanceFor {
    /// The agent; by default you.
    pub agent_id: Option<Name>,
    /// The session in which the agent works.
    pub session_id: Option<SessionId>,
    /// The longest wait; only for `/v1/clearance/wait`.
    pub timeout_ms: Option<u64>,
}

/// Whether an agent may work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Clearance {
    /// True if no halt covers the agent.
    pub can_proceed: bool,
    /// The questions and halts that cover the agent, oldest first.
    pub blocked_by: Vec<BlockedBy>,
    /// True if this server has not heard from the database for two seconds. Then it cannot know
    /// about halts and refuses clearance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_touch: bool,
}

/// A question or a halt that keeps agents from working.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedBy {
    /// The id of the question or of the halt.
    pub id: String,
    /// `question` or `halt`.
    pub kind: String,
    /// The type of the question; `null` for a halt.
    #[serde(rename = "type", default)]
    pub question_type: Option<QuestionType>,
    /// Whom it halts.
    pub scope: Scope,
    pub since: Timestamp,
    /// The agent that asked the question, or that the halt covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Name>,
    /// The session that is halted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Why an operator raised the halt; only for principals that may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who raised the halt. Only in the list of halts, and hidden from agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_by: Option<Name>,
    /// True if the question was denied and its asker has not fetched the denial yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub denied: bool,
}

impl From<&Hold> for BlockedBy {
    fn from(hold: &Hold) -> Self {
        Self {
            id: hold.id.as_str().to_owned(),
            kind: hold.id.kind().to_owned(),
            question_type: hold.question_type,
            scope: hold.scope,
            since: hold.since,
            agent_id: hold.agent_id.clone(),
            session_id: hold.session_id.clone(),
            reason: hold.reason.clone(),
            raised_by: None,
            denied: hold.denied,
        }
    }
}

/// The result of a wait for clearance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClearanceWaited {
    /// Whether the agent may work.
    pub cleared: bool,
    /// How the last question or halt that covered the agent ended. If the agent may not work:
    /// `timeout` or `denied`.
    pub reason: ReleaseReason,
    /// The answers to the questions that covered the agent.
    pub answers: Vec<AnswerGiven>,
    /// The questions and halts that still cover the agent, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<BlockedBy>,
}

/// How a question that covered an agent ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerGiven {
    pub question_id: QuestionId,
    /// The answer; `null` if the question was skipped or cancelled.
    pub answer: Option<Value>,
    /// How the question ended.
    pub reason: ReleaseReason,
    /// The reason that was given when the question was closed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

impl AnswerGiven {
    /// How a question ended; `None` for a halt, which has no answer.
    pub fn new(id: &HoldId, answer: Option<Value>, reason: ReleaseReason, comment: String) -> Option<Self> {
        Some(Self { question_id: id.question()?.clone(), answer, reason, comment })
    }
}

/// Raises a halt.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"scope": "agent", "agent_id": "deployer", "reason": "it deploys too often"}))]
pub struct RaiseHalt {
    /// Whom it halts.
    pub scope: Scope,
    /// The agent, with scope `agent`.
    pub agent_id: Option<Name>,
    /// The session, with scope `session`.
    pub session_id: Option<SessionId>,
    pub reason: String,
}

/// A halt that an operator raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Halt {
    pub id: HaltId,
    /// Whom it halts.
    pub scope: Scope,
    pub agent_id: Option<Name>,
    pub session_id: Option<SessionId>,
    pub reason: String,
    pub raised_by: Name,
    pub raised_at: Timestamp,
    pub lifted_by: Option<Name>,
    pub lifted_at: Option<Timestamp>,
}

impl From<halt::Halt> for Halt {
    fn from(halt: halt::Halt) -> Self {
        Self {
            id: halt.id,
            scope: halt.scope,
            agent_id: halt.agent_id,
            session_id: halt.session_id,
            reason: halt.reason,
            raised_by: halt.raised_by,
            raised_at: halt.raised_at,
            lifted_by: halt.lifted.as_ref().map(|lifting| lifting.by.clone()),
            lifted_at: halt.lifted.map(|lifting| lifting.at),
        }
    }
}

/// Who is halted, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HaltStatus {
    /// Whether everyone is halted.
    pub system_halted: bool,
    pub halted_sessions: Vec<SessionId>,
    /// Agents that are halted individually.
    pub halted_agents: Vec<Name>,
    /// The questions and halts that cause this.
    pub held_by: HeldBy,
}

/// The questions and halts by what they cover, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldBy {
    /// Those that cover everyone.
    pub system: Vec<BlockedBy>,
    /// Those that cover each halted session.
    pub sessions: BTreeMap<SessionId, Vec<BlockedBy>>,
    /// Those that cover each halted agent.
    pub agents: BTreeMap<Name, Vec<BlockedBy>>,
}

impl HeldBy {
    /// Every question and halt that covers anybody, once each, oldest first.
    pub fn all(&self) -> Vec<&BlockedBy> {
        let columns = self.sessions.values().chain(self.agents.values()).chain([&self.system]);
        let mut all: Vec<_> = columns.flatten().collect();
        all.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
        all.dedup_by(|a, b| a.id == b.id);
        all
    }
}
