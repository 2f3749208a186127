//! How much one agent may have open at the same time, and how many of its refused attempts the log
//! keeps.
//!
//! People who review must still find what others ask. So an agent has a limit on what waits for
//! them because of it; people have none.

use crate::{Gate, Name, Principal, Refusal, Role, command::Actor};

/// What a command is judged by, as configuration and the node say. Unless something is set, there
/// is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Pending gates of one agent.
    pub pending_gates: Option<u64>,
    /// Bytes of the artifacts of those gates, together.
    pub pending_bytes: Option<u64>,
    /// Open questions of one agent.
    pub open_questions: Option<u64>,
    /// Runs of one agent that we execute and that are not over.
    pub open_runs: Option<u64>,
    /// Halts of one principal that stand, unless it is an admin, who can lift them.
    pub standing_halts: Option<u64>,
    /// Whether an attempt that is refused is recorded in the log.
    pub records_refusals: bool,
    /// How many attempts of this principal were refused and not recorded since the last one that
    /// was.
    pub unrecorded: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self {
            pending_gates: None,
            pending_bytes: None,
            open_questions: None,
            open_runs: None,
            standing_halts: None,
            records_refusals: true,
            unrecorded: 0,
        }
    }
}

/// What an agent has open, read in the transaction that judges its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaUsage {
    /// Its pending gates. A store may stop counting beyond the limit.
    pub gates: u64,
    /// Bytes of their artifacts.
    pub bytes: u64,
    /// Its open questions.
    pub questions: u64,
    /// Its runs that we execute and that are not over.
    pub runs: u64,
    /// Its halts that stand.
    pub halts: u64,
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

    /// Whose usage must be known, if the limit of runs is set.
    pub(crate) fn of_runs<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.open_runs.is_some())
    }

    /// Whose usage must be known, if the limit of halts is set.
    pub(crate) fn of_halts<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        match by {
            Actor::Principal(Principal { name, role, .. }) if *role != Role::Admin => {
                Some(name).filter(|_| self.standing_halts.is_some())
            }
            Actor::Principal(_) | Actor::System => None,
        }
    }

    /// Refuses one more gate with so many bytes.
    pub(crate) fn allows_gate(&self, by: &Actor, usage: QuotaUsage, bytes: u64) -> Result<(), Refusal> {
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
    pub(crate) fn allows_question(&self, by: &Actor, usage: QuotaUsage) -> Result<(), Refusal> {
        match self.of_questions(by) {
            Some(_) => within(usage.questions + 1, self.open_questions, "open questions"),
            None => Ok(()),
        }
    }

    /// Refuses one more halt.
    pub(crate) fn allows_halt(&self, by: &Actor, usage: QuotaUsage) -> Result<(), Refusal> {
        match self.of_halts(by) {
            Some(_) => within(usage.halts + 1, self.standing_halts, "standing halts"),
            None => Ok(()),
        }
    }

    /// Refuses one more run that we execute.
    pub(crate) fn allows_run(&self, by: &Actor, usage: QuotaUsage) -> Result<(), Refusal> {
        match self.of_runs(by) {
            Some(_) => within(usage.runs + 1, self.open_runs, "runs that are not over"),
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
mod tests;
