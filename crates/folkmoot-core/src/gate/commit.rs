//! What an event of a gate writes.

use super::{Gate, GateEvent, GateState, timer::timer};
use crate::{Actor, Commit, Fact, GateId, Outcome, Principal, Refusal, Row, Subject, TimerChange, Wake, judge::Case};

impl Gate {
    /// The gate, if it exists and the command's sender may see it. Otherwise it counts as unknown.
    pub(super) fn visible(gate: Option<Gate>, id: &GateId, case: &Case<'_>) -> Result<Gate, Refusal> {
        let seen = |gate: &Gate| match &case.command.by {
            Actor::Principal(by) => by.may_see(gate),
            Actor::System => true,
        };
        gate.filter(seen).ok_or_else(|| Refusal::UnknownGate { gate: id.clone() })
    }

    /// Applies an event to a gate and returns everything to write.
    pub(crate) fn commit_event(mut self, case: &Case<'_>, event: &GateEvent) -> Commit {
        let due_before = self.due();
        self.apply(event).expect("an event that the rules just allowed applies");
        let clear = || TimerChange::Clear(Subject::Gate(self.id.clone()));
        let (timers, wakes) = match &self.state {
            GateState::Closed(_) => (vec![clear()], self.run_id.iter().cloned().map(Wake::Run).collect()),
            GateState::Pending { .. } if self.due() == due_before => (Vec::new(), Vec::new()),
            GateState::Pending { .. } => (vec![timer(&self).unwrap_or_else(clear)], Vec::new()),
        };
        Commit {
            events: vec![self.fact(case, event)],
            timers,
            wakes,
            rows: vec![Row::Gate(Box::new(self.clone()))],
            outcome: Outcome::Gate(Box::new(self)),
            ..Commit::default()
        }
    }

    /// The fact for an event that was just applied to the gate.
    pub(super) fn fact(&self, case: &Case<'_>, event: &GateEvent) -> Fact {
        case.fact(self.id.as_str(), self.seq, event.kind(), event.payload(), self.session_id.as_ref())
    }
}

impl Principal {
    /// Whether this principal may see the gate. Agents see only gates that they opened, and gates
    /// of runs that they started.
    pub fn may_see(&self, gate: &Gate) -> bool {
        let own = gate.requested_by == self.name || gate.initiator.as_ref() == Some(&self.name);
        self.role.sees_everything() || own
    }
}
