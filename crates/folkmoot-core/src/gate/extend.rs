//! Giving a gate more time.

use super::{Gate, GateEvent, policy::check_timeout};
use crate::{
    Commit, Deadline, GateId, Principal, Refusal, Role, Timeout, Timestamp,
    judge::{Case, RefusedWith},
};

/// A request to give a gate more time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    pub gate: GateId,
    /// Counted from now.
    pub timeout: Timeout,
}

/// Judges an extension and returns what to write.
pub(super) fn judge(case: &Case<'_>, extension: &Extension, gate: Option<Gate>) -> Result<Commit, RefusedWith> {
    let by = case.principal("extend a gate")?;
    let gate = Gate::visible(gate, &extension.gate, case)?;
    let event = extend(&gate, extension, by, case.now)?;
    Ok(gate.commit_event(case, &event))
}

/// An extension never shortens a deadline.
fn extend(gate: &Gate, extension: &Extension, by: &Principal, now: Timestamp) -> Result<GateEvent, Refusal> {
    gate.must_be_open(now)?;
    gate.must_be_theirs(by, "extend")?;
    check_timeout(extension.timeout)?;
    let deadline: Deadline = extension.timeout.deadline(now);
    if deadline <= gate.deadline {
        return Err(Refusal::DeadlineNotLater { deadline: gate.deadline });
    }
    let next = gate.reminders.before(deadline, now);
    Ok(GateEvent::Extended { requested_by: gate.requested_by.clone(), deadline, next })
}

impl Gate {
    /// Refuses everybody but the agent that opened the gate, reviewers and admins. Those may extend
    /// and cancel it.
    pub(super) fn must_be_theirs(&self, by: &Principal, verb: &'static str) -> Result<(), Refusal> {
        match by.role {
            Role::Admin | Role::Reviewer => Ok(()),
            Role::Agent if self.requested_by == by.name => Ok(()),
            Role::Agent => Err(Refusal::NotRequester { requester: self.requested_by.clone(), verb }),
            Role::Viewer => Err(Refusal::RoleMayNot { role: by.role, verb }),
        }
    }
}
