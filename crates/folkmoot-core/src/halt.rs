//! A halt that an operator raised: work stops until an operator lifts it.
//!
//! ```text
//!   raise ─▶ Standing ──lift──▶ Lifted
//! ```
//!
//! Only an admin lifts it: no answer to a question does, and no agent. A monitoring agent whose
//! token has the capability `halt` may raise one.

mod action;
mod commit;
mod event;
mod lift;
mod notice;
mod raise;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use action::{Action, Loaded};
pub use event::HaltEvent;
pub use notice::Notice;
pub(crate) use notice::notices;
pub use raise::NewHalt;

use crate::{HaltId, Hold, HoldId, Name, Principal, Scope, SessionId, Timestamp};

/// A halt as stored in its row, which is exactly the fold of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halt {
    /// Unique across everything.
    pub id: HaltId,
    pub scope: Scope,
    /// Set for scope `agent`.
    pub agent_id: Option<Name>,
    /// Set for scope `session`.
    pub session_id: Option<SessionId>,
    pub reason: String,
    pub raised_by: Name,
    pub raised_at: Timestamp,
    /// How many events its stream has.
    pub seq: u64,
    /// Set once it is lifted.
    pub lifted: Option<Lift>,
}

/// Who lifted a halt, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lift {
    pub by: Name,
    pub at: Timestamp,
}

impl Halt {
    /// Whether this principal may see it. Agents see only their own, and halts of everyone.
    pub fn may_be_seen_by(&self, principal: &Principal) -> bool {
        // Who may see it does not change when it is lifted.
        Halt { lifted: None, ..self.clone() }.hold().is_some_and(|hold| hold.may_be_seen_by(principal))
    }

    /// Its hold, until it is lifted.
    pub fn hold(&self) -> Option<Hold> {
        if self.lifted.is_some() {
            return None;
        }
        Some(Hold {
            id: HoldId::Halt(self.id.clone()),
            scope: self.scope,
            agent_id: self.agent_id.clone(),
            session_id: self.session_id.clone(),
            since: self.raised_at,
            question_type: None,
            denied: false,
            by: self.raised_by.clone(),
            reason: Some(self.reason.clone()),
        })
    }
}
