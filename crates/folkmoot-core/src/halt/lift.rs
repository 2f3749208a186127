//! Lifting a halt.

use super::{Halt, HaltEvent, Lift, Loaded, commit::refused};
use crate::{
    Commit, HaltId, Outcome, Principal, Refusal, Role, Row, Timestamp, clearance,
    judge::{Case, RefusedWith},
};

/// Judges the lift of a halt and returns what to write. A refused attempt is recorded too.
pub(super) fn judge(case: &Case<'_>, id: &HaltId, loaded: Loaded) -> Result<Commit, RefusedWith> {
    let by = case.principal("lift a halt")?;
    let mut halt = loaded.halt.ok_or_else(|| Refusal::UnknownHalt { halt: id.clone() })?;
    let before = halt.clone();
    match lift(&halt, by, case.now) {
        Ok(event) => {
            halt.apply(&event).expect("an event that the rules just allowed applies");
            let mut events = vec![halt.fact(case, &event)];
            events.extend(halt.commit_notices(case, Some(&before), loaded.others));
            let rows = vec![Row::Halt(Box::new(halt.clone()))];
            let wakes = clearance::released(before.hold().as_ref(), halt.hold().as_ref());
            Ok(Commit { rows, events, wakes, outcome: Outcome::Halt(Box::new(halt)), ..Commit::default() })
        }
        Err(refusal) if !case.command.quota.records_refusals => Err(refusal.into()),
        Err(refusal) => {
            let event = refused(case, "lift", &halt.raised_by, &refusal);
            halt.apply(&event).expect("a refusal changes nothing but the count");
            let events = vec![halt.fact(case, &event)];
            let rows = vec![Row::Halt(Box::new(halt))];
            Err(RefusedWith { refusal, record: Box::new(Commit { events, rows, ..Commit::default() }) })
        }
    }
}

/// Only admins may lift a halt: the right to raise one is not enough.
fn lift(halt: &Halt, by: &Principal, now: Timestamp) -> Result<HaltEvent, Refusal> {
    match by.role {
        Role::Admin => {}
        Role::Reviewer | Role::Agent | Role::Viewer => {
            return Err(Refusal::RoleMayNot { role: by.role, verb: "lift a halt" });
        }
    }
    match &halt.lifted {
        Some(lifting) => Err(Refusal::HaltLifted { halt: halt.id.clone(), lifting: lifting.clone() }),
        None => Ok(HaltEvent::Lifted {
            raised_by: halt.raised_by.clone(),
            agent_id: halt.agent_id.clone(),
            lifting: Lift { by: by.name.clone(), at: now },
        }),
    }
}
