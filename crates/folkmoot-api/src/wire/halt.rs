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

/// Whose clearance.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClearanceFor {
    /// The agent; your own name unless it is given.
    pub agent_id: Option<Name>,
    /// The session it works in.
    pub session_id: Option<SessionId>,
    /// How long to wait at most; only when waiting.
    pub timeout_ms: Option<u64>,
}

/// Whether an agent may work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Clearance {
    /// Nothing covers it.
    pub can_proceed: bool,
    /// Everything that covers it, oldest first.
    pub blocked_by: Vec<BlockedBy>,
    /// This node has not heard from the database for two seconds, so it cannot know, and says no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_touch: bool,
}

/// One reason not to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlockedBy {
    /// The question's or the halt's.
    pub id: String,
    /// `question` or `halt`.
    pub kind: String,
    /// The question's type.
    #[serde(rename = "type", default)]
    pub question_type: Option<QuestionType>,
    /// How far it reaches.
    pub scope: Scope,
    pub since: Timestamp,
    /// The agent that asked it, or that it halts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Name>,
    /// The session that it halts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Why an operator raised it, for those who may know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who raised the halt; only in the list of halts, and not for agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised_by: Option<Name>,
    /// It was denied, and its asker has not fetched that yet.
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

/// How a wait for clearance ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClearanceWaited {
    /// The agent may work.
    pub cleared: bool,
    /// What became of the last thing that covered it; `timeout` or `denied` where it may not work.
    pub reason: ReleaseReason,
    /// What was answered to the questions that covered it.
    pub answers: Vec<AnswerGiven>,
    /// What still covers it, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<BlockedBy>,
}

/// What became of one question that covered an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AnswerGiven {
    pub question_id: QuestionId,
    /// What was answered; nothing where it was skipped or cancelled.
    pub answer: Option<Value>,
    /// How it ended.
    pub reason: ReleaseReason,
    /// Why, in the words of whoever closed it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

impl AnswerGiven {
    /// What became of a question; `None` for a halt, which has no answer.
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
    /// How far it reaches.
    pub scope: Scope,
    /// Which agent, with scope `agent`.
    pub agent_id: Option<Name>,
    /// Which session, with scope `session`.
    pub session_id: Option<SessionId>,
    pub reason: String,
}

/// A halt that an operator raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Halt {
    /// Unique across everything.
    pub id: HaltId,
    /// How far it reaches.
    pub scope: Scope,
    pub agent_id: Option<Name>,
    pub session_id: Option<SessionId>,
    pub reason: String,
    /// Who raised it.
    pub raised_by: Name,
    pub raised_at: Timestamp,
    /// Who lifted it.
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

/// What is halted, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HaltStatus {
    /// Everyone is halted.
    pub system_halted: bool,
    /// Sessions that are halted.
    pub halted_sessions: Vec<SessionId>,
    /// Agents that are halted for themselves.
    pub halted_agents: Vec<Name>,
    /// What holds them.
    pub held_by: HeldBy,
}

/// The questions and halts that hold each, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeldBy {
    /// Everyone.
    pub system: Vec<BlockedBy>,
    /// Each halted session.
    pub sessions: BTreeMap<SessionId, Vec<BlockedBy>>,
    /// Each halted agent.
    pub agents: BTreeMap<Name, Vec<BlockedBy>>,
}

impl HeldBy {
    /// Every question and halt that holds anybody, once each, oldest first.
    pub fn all(&self) -> Vec<&BlockedBy> {
        let columns = self.sessions.values().chain(self.agents.values()).chain([&self.system]);
        let mut all: Vec<_> = columns.flatten().collect();
        all.sort_by(|a, b| (a.since, &a.id).cmp(&(b.since, &b.id)));
        all.dedup_by(|a, b| a.id == b.id);
        all
    }
}
