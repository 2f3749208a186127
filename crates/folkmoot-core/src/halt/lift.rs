//! Lifting a halt.

use super::{Halt, HaltEvent, Lifting};
use crate::{Principal, Refusal, Role, Timestamp};

/// Judges a lifting. Whoever may raise a halt may not, for that alone, lift one.
pub(crate) fn lift(halt: &Halt, by: &Principal, now: Timestamp) -> Result<HaltEvent, Refusal> {
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
            lifting: Lifting { by: by.name.clone(), at: now },
        }),
    }
}
