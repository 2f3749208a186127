//! Raising a halt.

use super::{Halt, HaltEvent};
use crate::{HaltId, Name, Principal, Refusal, Scope, SessionId, Timestamp, principal, text};

/// What is to stop, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raising {
    /// Made by the caller, because core has no randomness.
    pub id: HaltId,
    /// How far it reaches.
    pub scope: Scope,
    /// Which agent, with scope `agent`.
    pub agent_id: Option<Name>,
    /// Which session, with scope `session`.
    pub session_id: Option<SessionId>,
    pub reason: String,
}

/// Judges a raising.
pub(crate) fn raise(raising: &Raising, by: &Principal, now: Timestamp) -> Result<HaltEvent, Refusal> {
    if !by.may_halt() {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "raise a halt" });
    }
    check_target(raising)?;
    text::check_filled("reason", &raising.reason, text::REASON_BYTES_MAX)?;
    Ok(HaltEvent::Raised(Box::new(Halt {
        id: raising.id.clone(),
        scope: raising.scope,
        agent_id: raising.agent_id.clone(),
        session_id: raising.session_id.clone(),
        reason: raising.reason.clone(),
        raised_by: by.name.clone(),
        raised_at: now,
        seq: 1,
        lifted: None,
    })))
}

/// The scope says which of the two ids there must be; another one would promise a narrower halt
/// than this is.
fn check_target(raising: &Raising) -> Result<(), Refusal> {
    let (needs_agent, needs_session) = match raising.scope {
        Scope::Agent => (true, false),
        Scope::Session => (false, true),
        Scope::All => (false, false),
    };
    let scope = raising.scope;
    let check = |field, is_there: bool, is_needed: bool| match (is_there, is_needed) {
        (false, true) => Err(Refusal::invalid(field, format!("is missing: scope {scope} must say which"))),
        (true, false) => Err(Refusal::invalid(field, format!("does not go with scope {scope}; leave it out"))),
        (true, true) | (false, false) => Ok(()),
    };
    check("agent_id", raising.agent_id.is_some(), needs_agent)?;
    check("session_id", raising.session_id.is_some(), needs_session)?;
    raising.agent_id.as_ref().map_or(Ok(()), |name| principal::check_name("agent_id", name))
}
