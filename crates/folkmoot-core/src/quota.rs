//! How much one agent may have open at the same time, and how many of its refused attempts the log keeps.
//!
//! People who review must still find what others ask. So an agent has a limit on what waits for them because of it; people have none.

use crate::{Gate, Name, Principal, Refusal, Role, command::Actor};

/// What a command is judged by, as configuration and the node say. Unless something is set, there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Pending gates of one agent.
    pub pending_gates: Option<u64>,
    /// Bytes of the artifacts of those gates, together.
    pub pending_bytes: Option<u64>,
    /// Open questions of one agent.
    pub open_questions: Option<u64>,
    /// Whether an attempt that is refused is recorded in the log.
    pub records_refusals: bool,
    /// How many attempts of this principal were refused and not recorded since the last one that was.
    pub unrecorded: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { pending_gates: None, pending_bytes: None, open_questions: None, records_refusals: true, unrecorded: 0 }
    }
}

/// What an agent has open, in the transaction that judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Its pending gates. A store may stop counting beyond the limit.
    pub gates: u64,
    /// Bytes of their artifacts.
    pub bytes: u64,
    /// Its open questions.
    pub questions: u64,
}

/// The bytes that a gate keeps while it is pending.
pub fn bytes_of(gate: &Gate) -> u64 {
    gate.content.artifacts.iter().map(|artifact| artifact.bytes).sum()
}

/// For what is left out of JSON.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Quota {
    /// Whose usage must be known, if any limit of gates is set.
    pub(crate) fn of_gates<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.pending_gates.is_some() || self.pending_bytes.is_some())
    }

    /// Whose usage must be known, if the limit of questions is set.
    pub(crate) fn of_questions<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.open_questions.is_some())
    }

    /// Refuses one more gate with so many bytes.
    pub(crate) fn allows_gate(&self, by: &Actor, usage: Usage, bytes: u64) -> Result<(), Refusal> {
        if self.of_gates(by).is_none() {
            return Ok(());
        }
        within(usage.gates + 1, self.pending_gates, "pending gates")?;
        self.allows_bytes(by, usage.bytes, bytes)
    }

    /// Refuses so many bytes beside those that are there.
    pub(crate) fn allows_bytes(&self, by: &Actor, there: u64, more: u64) -> Result<(), Refusal> {
        match self.of_gates(by) {
            Some(_) if more > 0 => within(there + more, self.pending_bytes, "bytes in pending gates"),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses one more question.
    pub(crate) fn allows_question(&self, by: &Actor, usage: Usage) -> Result<(), Refusal> {
        match self.of_questions(by) {
            Some(_) => within(usage.questions + 1, self.open_questions, "open questions"),
            None => Ok(()),
        }
    }
}

fn agent(by: &Actor) -> Option<&Name> {
    match by {
        Actor::Principal(Principal { name, role: Role::Agent, .. }) => Some(name),
        Actor::Principal(_) | Actor::System => None,
    }
}

fn within(wanted: u64, limit: Option<u64>, what: &'static str) -> Result<(), Refusal> {
    match limit {
        Some(limit) if wanted > limit => Err(Refusal::TooManyOpen { what, limit }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(role: Role) -> Actor {
        Actor::Principal(Principal::new("somebody".parse().unwrap(), role))
    }

    #[test]
    fn agents_have_limits_and_people_have_none() {
        let quota =
            Quota { pending_gates: Some(2), pending_bytes: Some(10), open_questions: Some(1), ..Quota::default() };
        let usage = |gates, bytes, questions| Usage { gates, bytes, questions };
        let too_many = |what, limit| Err(Refusal::TooManyOpen { what, limit });
        assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 4, 9), 6), Ok(()));
        assert_eq!(quota.allows_gate(&by(Role::Agent), usage(2, 0, 0), 0), too_many("pending gates", 2));
        assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 5, 0), 6), too_many("bytes in pending gates", 10));
        // Whoever has too much already may still ask without adding to it.
        assert_eq!(quota.allows_gate(&by(Role::Agent), usage(1, 50, 0), 0), Ok(()));
        assert_eq!(quota.allows_question(&by(Role::Agent), usage(9, 9, 0)), Ok(()));
        assert_eq!(quota.allows_question(&by(Role::Agent), usage(0, 0, 1)), too_many("open questions", 1));
        for role in [Role::Reviewer, Role::Admin] {
            assert_eq!(quota.allows_gate(&by(role), usage(9, 99, 9), 99), Ok(()));
            assert_eq!(quota.allows_question(&by(role), usage(9, 99, 9)), Ok(()));
        }
        assert_eq!(Quota::default().allows_gate(&by(Role::Agent), usage(9, 99, 9), 99), Ok(()));
        assert_eq!(Quota::default().of_gates(&by(Role::Agent)), None, "nothing needs to be counted");
    }
}
