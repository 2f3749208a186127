//! Quotas: how much one agent may have open at the same time, and whether its refused attempts are
//! recorded in the log.
//!
//! Reviewers must still be able to find what others ask. So there is a limit on how much one agent
//! can make them look at. People have no such limit.

use crate::{Gate, Name, Principal, Refusal, Role, command::Actor};

/// The limits by which a command is judged, from the configuration and the node. `None` means no
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Pending gates of one agent.
    pub pending_gates: Option<u64>,
    /// Bytes of the artifacts of those gates, together.
    pub pending_bytes: Option<u64>,
    /// Open questions of one agent.
    pub open_questions: Option<u64>,
    /// Runs of one agent that Folkmoot executes and that are not over.
    pub open_runs: Option<u64>,
    /// Halts of one principal that were not lifted. Admins have no limit, because they can lift
    /// halts.
    pub standing_halts: Option<u64>,
    /// Whether a refused attempt is recorded in the log.
    pub records_refusals: bool,
    /// How many refused attempts of this principal were not recorded since the last recorded one.
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

/// How much an agent has open, read in the transaction that judges its command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotaUsage {
    /// Its pending gates. A store may stop counting beyond the limit.
    pub gates: u64,
    /// Bytes of their artifacts.
    pub bytes: u64,
    /// Its open questions.
    pub questions: u64,
    /// Its runs that Folkmoot executes and that are not over.
    pub runs: u64,
    /// Its halts that were not lifted.
    pub halts: u64,
}

/// The bytes of a gate's artifacts, together.
pub fn bytes_of(gate: &Gate) -> u64 {
    gate.content.artifacts.iter().map(|artifact| artifact.bytes).sum()
}

/// Lets JSON leave out a count of zero.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Quota {
    /// The agent whose usage must be loaded, if any limit for gates is set.
    pub(crate) fn of_gates<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.pending_gates.is_some() || self.pending_bytes.is_some())
    }

    /// The agent whose usage must be loaded, if the limit for questions is set.
    pub(crate) fn of_questions<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.open_questions.is_some())
    }

    /// The agent whose usage must be loaded, if the limit for runs is set.
    pub(crate) fn of_runs<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        agent(by).filter(|_| self.open_runs.is_some())
    }

    /// The principal whose usage must be loaded, if the limit for halts is set.
    pub(crate) fn of_halts<'a>(&self, by: &'a Actor) -> Option<&'a Name> {
        match by {
            Actor::Principal(Principal { name, role, .. }) if *role != Role::Admin => {
                Some(name).filter(|_| self.standing_halts.is_some())
            }
            Actor::Principal(_) | Actor::System => None,
        }
    }

    /// Refuses one more gate with this many bytes if that exceeds a limit.
    pub(crate) fn allows_gate(&self, by: &Actor, usage: QuotaUsage, bytes: u64) -> Result<(), Refusal> {
        if self.of_gates(by).is_none() {
            return Ok(());
        }
        within(usage.gates + 1, self.pending_gates, "pending gates")?;
        self.allows_bytes(by, usage.bytes, bytes)
    }

    /// Refuses `more` bytes in addition to those that are there, if that exceeds the limit.
    pub(crate) fn allows_bytes(&self, by: &Actor, there: u64, more: u64) -> Result<(), Refusal> {
        match self.of_gates(by) {
            Some(_) if more > 0 => within(there + more, self.pending_bytes, "bytes in pending gates"),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses one more question if that exceeds the limit.
    pub(crate) fn allows_question(&self, by: &Actor, usage: QuotaUsage) -> Result<(), Refusal> {
        match self.of_questions(by) {
            Some(_) => within(usage.questions + 1, self.open_questions, "open questions"),
            None => Ok(()),
        }
    }

    /// Refuses one more halt if that exceeds the limit.
    pub(crate) fn allows_halt(&self, by: &Actor, usage: QuotaUsage) -> Result<(), Refusal> {
        match self.of_halts(by) {
            Some(_) => within(usage.halts + 1, self.standing_halts, "standing halts"),
            None => Ok(()),
        }
    }

    /// Refuses one more run that Folkmoot executes, if that exceeds the limit.
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
