//! Notices: events that say what a hold did to an agent, a session or everyone, such as
//! `agent.halted` and `session.resumed`.
//!
//! They are judged in the transaction that orders the log, together with the other holds on the
//! same targets. So of two nodes exactly one says that something was resumed, and it is true at
//! that moment.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Fact, HaltId, Hold, HoldId, Name, QuestionId, SessionId,
    clearance::{Others, Target},
    event::CorruptLog,
    question::QuestionType,
};

/// One target that a question or a halt has halted or released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Not in the payload, because the event's type says it.
    #[serde(skip)]
    pub level: HaltLevel,
    /// Whether it was released because no hold is left on it; otherwise it was halted. Not in the
    /// payload, because the event's type says it.
    #[serde(skip)]
    pub resumed: bool,
    /// The question that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<QuestionId>,
    /// The operator's halt that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halt_id: Option<HaltId>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub question_type: Option<QuestionType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Who asked the question or raised the halt.
    pub asked_by: Name,
    /// The answer to the question; only if an agent is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// Set if it was released: whether nothing else covers it. An agent can be resumed while its
    /// session, or everyone, is still halted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_proceed: Option<bool>,
}

vocabulary! {
    /// What can be halted.
    #[derive(Default)]
    pub enum HaltLevel {
        /// One agent.
        #[default]
        Agent = "agent",
        /// A session.
        Session = "session",
        /// Everyone.
        System = "system",
    }
}

impl Notice {
    /// Its type in the log and on the feed.
    pub fn kind(&self) -> &'static str {
        match (self.level, self.resumed) {
            (HaltLevel::Agent, false) => "agent.halted",
            (HaltLevel::Agent, true) => "agent.resumed",
            (HaltLevel::Session, false) => "session.halted",
            (HaltLevel::Session, true) => "session.resumed",
            (HaltLevel::System, false) => "system.halted",
            (HaltLevel::System, true) => "system.resumed",
        }
    }

    /// The notice that a logged fact holds, if it is one.
    pub(crate) fn read(fact: &Fact) -> Result<Option<Self>, CorruptLog> {
        let (level, resumed) = match fact.kind.as_ref() {
            "agent.halted" => (HaltLevel::Agent, false),
            "agent.resumed" => (HaltLevel::Agent, true),
            "session.halted" => (HaltLevel::Session, false),
            "session.resumed" => (HaltLevel::Session, true),
            "system.halted" => (HaltLevel::System, false),
            "system.resumed" => (HaltLevel::System, true),
            _ => return Ok(None),
        };
        Ok(Some(Notice { level, resumed, ..CorruptLog::parse(fact)? }))
    }
}

/// The notices for a hold that changes from `before` to `after`. There is a notice for every hold
/// that is put on a target, but for a release only if no other hold is left on the target.
pub(crate) fn notices(
    before: Option<&Hold>,
    after: Option<&Hold>,
    others: Others,
    answer: Option<&Value>,
) -> Vec<Notice> {
    let targets = |hold: Option<&Hold>| hold.into_iter().flat_map(Hold::targets).collect::<Vec<_>>();
    let (held, holds) = (targets(before), targets(after));
    let halted = holds.iter().filter(|target| !held.contains(target));
    let halted = halted.zip(after.iter().cycle()).map(|(target, hold)| notice(target, hold, None, None));
    let released = held.iter().filter(|target| !holds.contains(target) && !others.hold(target));
    let released = released.zip(before.iter().cycle()).map(|(target, hold)| {
        let can_proceed = match target {
            Target::Agent(_) => !others.session && !others.system,
            Target::Session(_) => !others.system,
            Target::System => true,
        };
        notice(target, hold, answer, Some(can_proceed))
    });
    halted.chain(released).collect()
}

fn notice(target: &Target, hold: &Hold, answer: Option<&Value>, can_proceed: Option<bool>) -> Notice {
    let (question_id, halt_id) = match &hold.id {
        HoldId::Question(id) => (Some(id.clone()), None),
        HoldId::Halt(id) => (None, Some(id.clone())),
    };
    let level = match target {
        Target::Agent(_) => HaltLevel::Agent,
        Target::Session(_) => HaltLevel::Session,
        Target::System => HaltLevel::System,
    };
    Notice {
        level,
        resumed: can_proceed.is_some(),
        question_id,
        halt_id,
        question_type: hold.question_type,
        agent_id: hold.agent_id.clone(),
        session_id: hold.session_id.clone(),
        asked_by: hold.by.clone(),
        // Many hear that a session or everyone may work again, but the answer is only for its
        // asker.
        answer: answer.filter(|_| level == HaltLevel::Agent).cloned(),
        can_proceed,
    }
}
