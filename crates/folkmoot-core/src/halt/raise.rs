//! Raising a halt.

use super::{Halt, HaltEvent, commit::refused};
use crate::{
    Commit, HaltId, Name, Outcome, Principal, QuotaUsage, Refusal, Row, Scope, SessionId, Timestamp,
    clearance::Others,
    judge::{Case, RefusedWith},
    principal, text,
};

/// A request to raise a halt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewHalt {
    /// Made by the caller, because core has no randomness.
    pub id: HaltId,
    pub scope: Scope,
    /// Required for scope `agent`.
    pub agent_id: Option<Name>,
    /// Required for scope `session`.
    pub session_id: Option<SessionId>,
    pub reason: String,
}

/// Judges a new halt and returns what to write. An attempt by somebody who may not raise halts is
/// recorded too.
pub(super) fn judge(case: &Case<'_>, new_halt: &NewHalt, usage: QuotaUsage) -> Result<Commit, RefusedWith> {
    let by = case.principal("raise a halt")?;
    let event = match raise(new_halt, by, case.now) {
        Ok(event) => event,
        Err(refusal @ Refusal::RoleMayNot { .. }) if case.command.quota.records_refusals => {
            let event = refused(case, "raise", &by.name, &refusal);
            // The attempt gets a stream of its own, which never becomes a halt.
            let (kind, session) = (event.kind(), new_halt.session_id.as_ref());
            let fact = case.fact(new_halt.id.as_str(), 1, kind, event.payload(), session);
            let record = Box::new(Commit { events: vec![fact], ..Commit::default() });
            return Err(RefusedWith { refusal, record });
        }
        Err(refusal) => return Err(refusal.into()),
    };
    case.command.quota.allows_halt(&case.command.by, usage)?;
    let HaltEvent::Raised(halt) = &event else { unreachable!("a new halt is raised") };
    let mut halt = halt.as_ref().clone();
    let mut events = vec![halt.fact(case, &event)];
    events.extend(halt.commit_notices(case, None, Others::default()));
    let mut rows: Vec<Row> = halt.session_id.iter().map(|id| Row::Session(id.clone(), case.now)).collect();
    rows.push(Row::Halt(Box::new(halt.clone())));
    Ok(Commit { rows, events, outcome: Outcome::Halt(Box::new(halt)), ..Commit::default() })
}

fn raise(new_halt: &NewHalt, by: &Principal, now: Timestamp) -> Result<HaltEvent, Refusal> {
    if !by.may_halt() {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "raise a halt" });
    }
    check_target(new_halt)?;
    text::check_filled("reason", &new_halt.reason, text::REASON_BYTES_MAX)?;
    Ok(HaltEvent::Raised(Box::new(Halt {
        id: new_halt.id.clone(),
        scope: new_halt.scope,
        agent_id: new_halt.agent_id.clone(),
        session_id: new_halt.session_id.clone(),
        reason: new_halt.reason.clone(),
        raised_by: by.name.clone(),
        raised_at: now,
        seq: 1,
        lifted: None,
    })))
}

/// The scope says which of the two ids must be set. The other one is refused, because it would
/// suggest a narrower halt than this is.
fn check_target(new_halt: &NewHalt) -> Result<(), Refusal> {
    let (needs_agent, needs_session) = match new_halt.scope {
        Scope::Agent => (true, false),
        Scope::Session => (false, true),
        Scope::All => (false, false),
    };
    let scope = new_halt.scope;
    let check = |field, is_there: bool, is_needed: bool| match (is_there, is_needed) {
        (false, true) => Err(Refusal::invalid(field, format!("is missing: scope {scope} must say which"))),
        (true, false) => Err(Refusal::invalid(field, format!("does not go with scope {scope}; leave it out"))),
        (true, true) | (false, false) => Ok(()),
    };
    check("agent_id", new_halt.agent_id.is_some(), needs_agent)?;
    check("session_id", new_halt.session_id.is_some(), needs_session)?;
    new_halt.agent_id.as_ref().map_or(Ok(()), |name| principal::check_name("agent_id", name))
}
