//! The actions on a gate, and the rows that each needs.

use super::{
    Amendment, Extension, Gate, GatePolicy, NewGate, Review, amend, cancel, decide, extend, open,
    open::{named_principals, shown_contents},
    timer,
};
use crate::{
    Actor, Commit, Digest, GateId, Name,
    judge::{Case, RefusedWith},
    quota::Quota,
};

/// An action on a gate.
#[derive(Clone, Debug)]
pub enum Action {
    Open {
        new_gate: Box<NewGate>,
        /// The configured policy.
        policy: GatePolicy,
        /// The bytes behind the digests of the gate's artifacts, in order.
        contents: Vec<Vec<u8>>,
    },
    /// Changes what a gate asks.
    Amend {
        amendment: Amendment,
        /// The configured policy.
        policy: GatePolicy,
        /// The new artifacts' bytes, in order.
        contents: Vec<Vec<u8>>,
    },
    /// Decides, or votes.
    Decide(Review),
    /// Gives a gate more time.
    Extend(Extension),
    /// Withdraws a gate.
    Cancel { gate: GateId, reason: String },
    /// A gate's timer is due.
    TimerDue { gate: GateId },
}

/// The rows of gates that a command needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This gate.
    pub id: Option<&'a GateId>,
    /// The text of that gate's summary too.
    pub summary: bool,
    /// This requester's pending gate with this dedupe key.
    pub pending_duplicate: Option<(&'a Name, &'a str)>,
}

/// The rows of gates that were found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub gate: Option<Gate>,
    /// The text of its summary, unless it was erased.
    pub summary: Option<String>,
    /// The pending gate with the same dedupe key.
    pub pending_duplicate: Option<Gate>,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Open { .. } => "gate.open",
            Action::Amend { .. } => "gate.amend",
            Action::Decide(_) => "gate.decide",
            Action::Extend(_) => "gate.extend",
            Action::Cancel { .. } => "gate.cancel",
            Action::TimerDue { .. } => "gate.timer_due",
        }
    }

    pub(crate) fn is_personal(&self) -> bool {
        match self {
            Action::Amend { .. } | Action::Extend(_) | Action::Cancel { .. } => true,
            // The presence for a decision is checked with its gate, so that a late reviewer is told
            // the decision. An agent may open a gate. Only a policy that is looser than the
            // configured one takes a person, which `open::judge` checks.
            Action::Decide(_) | Action::Open { .. } => false,
            // Only Folkmoot itself does this.
            Action::TimerDue { .. } => false,
        }
    }

    pub(crate) fn on_behalf_of(&self) -> Option<&Name> {
        match self {
            Action::Open { new_gate, .. } => new_gate.on_behalf_of.as_ref(),
            Action::Amend { .. }
            | Action::Decide(_)
            | Action::Extend(_)
            | Action::Cancel { .. }
            | Action::TimerDue { .. } => None,
        }
    }

    pub(crate) fn needs<'a>(&'a self, by: &'a Actor, quota: &Quota) -> crate::Needs<'a> {
        let (mut needs, mut all) = (Needs::default(), crate::Needs::default());
        match self {
            Action::Open { new_gate, .. } => {
                if let (Actor::Principal(by), Some(key)) = (by, &new_gate.dedupe_key) {
                    needs.pending_duplicate = Some((&by.name, key));
                }
                all.usage = quota.of_gates(by);
                all.run.id = new_gate.run_id.as_ref();
                all.contents = shown_contents(new_gate);
                all.principals = named_principals(new_gate);
            }
            Action::Amend { amendment, .. } => {
                (needs.id, needs.summary) = (Some(&amendment.gate), true);
                all.usage = quota.of_gates(by);
                all.contents = amendment.digests().collect();
            }
            Action::Decide(review) => {
                needs.id = Some(&review.gate);
                all.contents = review.edited.iter().map(|text| Digest::of(text.as_bytes())).collect();
            }
            Action::Extend(Extension { gate, .. }) | Action::Cancel { gate, .. } | Action::TimerDue { gate } => {
                needs.id = Some(gate);
            }
        }
        crate::Needs { gate: needs, ..all }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, loaded: crate::Loaded) -> Result<Commit, RefusedWith> {
        match self {
            Action::Open { new_gate, policy, contents } => open::judge(case, new_gate, policy, contents, loaded),
            Action::Amend { amendment, policy, contents } => amend::judge(case, amendment, policy, contents, loaded),
            Action::Decide(review) => decide::judge(case, review, loaded.gate.gate),
            Action::Extend(extension) => extend::judge(case, extension, loaded.gate.gate),
            Action::Cancel { gate, reason } => cancel::judge(case, gate, reason, loaded.gate.gate),
            Action::TimerDue { gate } => Ok(timer::judge(case, gate, loaded.gate.gate)),
        }
    }
}
