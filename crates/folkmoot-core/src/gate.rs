//! A gate: a request for a decision, which its run cannot pass until it is decided.
//!
//! ```text
//!              ┌─vote──amend──extend──remind──escalate─┐
//!              ▼                                       │
//!   open ─▶ Pending ───────────────────────────────────┘
//!              ├──quorum───▶ Closed: approved · rejected · adjust_… · paused
//!              ├──override─▶ Closed: approved
//!              ├──cancel───▶ Closed: cancelled
//!              └──deadline─▶ Closed: timed_out
//! ```
//!
//! A closed gate never changes. From its deadline on, a pending gate can only time out or escalate:
//! nobody can decide on it, even if its timer has not fired yet. Nobody decides on a gate that they
//! opened, and agents never decide.

mod action;
mod amend;
mod auto;
mod cancel;
mod check;
mod commit;
mod content;
mod decide;
mod event;
mod expire;
mod extend;
mod open;
mod policy;
mod remind;
#[cfg(test)]
mod tests;
mod timer;

use serde::{Deserialize, Serialize};

pub use action::{Action, Loaded, Needs};
pub use amend::Amendment;
pub(crate) use auto::auto_approve;
pub(crate) use cancel::withdraw;
pub use check::{AutoApproved, GateConfig, PhaseCheck};
pub use content::{ArtifactRef, Content};
pub use decide::{Review, VoteTally};
pub use event::GateEvent;
pub(crate) use event::VERSION;
pub(crate) use expire::expire;
pub use extend::Extension;
pub use open::NewGate;
pub(crate) use open::{commit_opened, open, shown_contents};
pub use policy::{GatePolicy, GatePreferences};
pub use remind::{NextReminders, Reminders};

use crate::{Deadline, Digest, GateId, Name, Presence, RunId, SessionId, Timeout, Timestamp};

/// A gate as stored in its row, which is exactly the fold of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Unique across everything.
    pub id: GateId,
    /// The run that cannot pass it, if it belongs to one.
    pub run_id: Option<RunId>,
    pub session_id: Option<SessionId>,
    /// What is to be decided on. The text of the summary is an artifact.
    pub content: Content,
    #[serde(rename = "type")]
    pub gate_type: GateType,
    pub mode: GateMode,
    /// Why it was opened, in words.
    pub why: String,
    /// The principal that opened it.
    pub requested_by: Name,
    /// The agent that the principal spoke for.
    pub on_behalf_of: Option<Name>,
    /// Who started the run. They may not decide if `self_review` is `deny`.
    pub initiator: Option<Name>,
    pub self_review: SelfReview,
    pub requested_at: Timestamp,
    /// How long it waits, and how long again after an escalation at its deadline.
    pub timeout: Timeout,
    /// The first moment that is too late to decide.
    pub deadline: Deadline,
    /// Whether it has escalated at its deadline, which it does at most once.
    pub escalated: bool,
    /// Rejections (or adjustments) needed to close it.
    pub reject_quorum: u32,
    /// A key that the requester chose. While this gate is pending, the requester gets it back
    /// instead of opening another one with the same key.
    pub dedupe_key: Option<String>,
    /// The channels to notify.
    pub notification_channels: Vec<String>,
    /// Reminders and the escalation before its deadline.
    #[serde(default, skip_serializing_if = "Reminders::is_empty")]
    pub reminders: Reminders,
    /// How a person must show that they decide, if the configuration demanded something when the
    /// gate was opened or its risk was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Counts its revisions, from 1. Each amendment of the content makes a new one.
    pub revision: u32,
    /// The digest of the current content.
    pub digest: Digest,
    /// How many events its stream has.
    pub seq: u64,
    pub state: GateState,
}

/// Where a gate is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// It waits for a decision.
    Pending {
        /// The votes on the current revision, at most one per person.
        votes: Vec<Vote>,
    },
    /// It is decided, and stays so.
    Closed(Decision),
}

/// One person's vote on one revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    pub reviewer: Name,
    pub choice: Choice,
    pub reason: String,
    pub at: Timestamp,
    /// How it was shown that a person voted; `None` in data of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
}

/// What was decided on a gate, by whom, when, why, and about exactly which content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The gate's id, under the field name that HelixAgent uses.
    pub request_id: GateId,
    pub decision: DecisionWord,
    /// Who decided, as the credential says; `timeout` for a timeout, and `auto` for a gate that
    /// asks nobody.
    pub reviewer: Name,
    pub reason: String,
    /// What to do differently, for an adjustment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The digest of the text that the reviewer wrote instead; the text is an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Digest>,
    pub decided_at: Timestamp,
    /// The digest of the content that was decided on.
    pub digest: Digest,
    /// That content's revision.
    pub revision: u32,
    /// What follows for the run.
    pub outcome: Next,
    /// How it was shown that a person decided; `None` if no person did, and in data of older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// All votes on that revision; empty if a single vote is enough to decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

impl Gate {
    /// Whether its decision stops its run. An agent that withdraws the gate of its own run has no
    /// permission to go on, so that stops the run too. A gate that somebody other than the run's
    /// initiator opened and withdrew does not stop the run.
    pub fn stops_its_run(&self) -> bool {
        self.decision().is_some_and(|decision| {
            let withdrawn = decision.decision == DecisionWord::Cancelled && decision.reviewer == self.requested_by;
            let of_another = self.initiator.as_ref().is_some_and(|initiator| *initiator != self.requested_by);
            decision.outcome == Next::Stop && !(withdrawn && of_another)
        })
    }

    /// When it was decided, if the decision stops its run or requests an adjustment.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        let stops = self.stops_its_run() || self.status() == GateStatus::AdjustRequested;
        self.decision().filter(|_| stops).map(|decision| decision.decided_at)
    }

    /// Whether people approved it, rather than the configuration.
    pub fn is_approved_by_people(&self) -> bool {
        self.gate_type == GateType::Human && self.status() == GateStatus::Approved
    }

    pub fn status(&self) -> GateStatus {
        match &self.state {
            GateState::Pending { .. } => GateStatus::Pending,
            GateState::Closed(decision) => decision.decision.status(),
        }
    }

    /// The decision, once the gate is closed.
    pub fn decision(&self) -> Option<&Decision> {
        match &self.state {
            GateState::Pending { .. } => None,
            GateState::Closed(decision) => Some(decision),
        }
    }
}

vocabulary! {
    /// What sort of request it is.
    pub enum GateKind {
        /// The end of a run's phase.
        Phase = "phase",
        /// A plan before it starts.
        Proposal = "proposal",
        /// A plan that is under way.
        Checkpoint = "checkpoint",
        /// A tool call.
        Tool = "tool",
        /// Anything else.
        Custom = "custom",
    }
}

vocabulary! {
    /// How a gate is decided. `ai` and `skip` come with the workflows.
    pub enum GateType {
        /// Approved at once, because the configuration asks nobody.
        Auto = "auto",
        /// By people.
        Human = "human",
    }
}

vocabulary! {
    /// Whether a gate blocks its run. `reaction` comes with the workflows.
    pub enum GateMode {
        /// The run cannot pass until it is decided.
        Gate = "gate",
    }
}

vocabulary! {
    /// What is at stake, least first.
    pub enum Risk {
        Low = "low",
        Medium = "medium",
        High = "high",
        /// A decision must name the digest of the content.
        Critical = "critical",
    }
}

vocabulary! {
    /// What a reviewer can say.
    pub enum Choice {
        /// The run may go on.
        Approve = "approve",
        /// The run may not go on.
        Reject = "reject",
        /// Something must be changed.
        Adjust = "adjust",
        /// The plan stops here and concludes.
        Pause = "pause",
    }
}

vocabulary! {
    /// The word of a decision.
    pub enum DecisionWord {
        /// Approved by enough reviewers, or by the configuration.
        Approved = "approved",
        /// Rejected by enough reviewers, or by an admin without the quorum.
        Rejected = "rejected",
        /// The requester must come back with something changed.
        AdjustRequested = "adjust_requested",
        /// The plan goes on with another strategy.
        AdjustStrategy = "adjust_strategy",
        /// The plan stops and goes to its synthesis.
        Paused = "paused",
        /// Nobody decided in time.
        TimedOut = "timed_out",
        /// An admin approved without the quorum.
        Override = "override",
        /// It was withdrawn.
        Cancelled = "cancelled",
    }
}

vocabulary! {
    /// Where a gate is in its life, in one word.
    pub enum GateStatus {
        Pending = "pending",
        /// Approved by people (with or without the quorum), or by the configuration.
        Approved = "approved",
        Rejected = "rejected",
        /// The requester must come back with something changed.
        AdjustRequested = "adjust_requested",
        /// The plan goes on with another strategy.
        AdjustStrategy = "adjust_strategy",
        /// The plan stops and goes to its synthesis.
        Paused = "paused",
        /// Nobody decided in time.
        TimedOut = "timed_out",
        /// It was withdrawn.
        Cancelled = "cancelled",
    }
}

impl DecisionWord {
    /// The gate's status after this decision.
    pub fn status(self) -> GateStatus {
        match self {
            DecisionWord::Approved | DecisionWord::Override => GateStatus::Approved,
            DecisionWord::Rejected => GateStatus::Rejected,
            DecisionWord::AdjustRequested => GateStatus::AdjustRequested,
            DecisionWord::AdjustStrategy => GateStatus::AdjustStrategy,
            DecisionWord::Paused => GateStatus::Paused,
            DecisionWord::TimedOut => GateStatus::TimedOut,
            DecisionWord::Cancelled => GateStatus::Cancelled,
        }
    }
}

vocabulary! {
    /// What a timeout does.
    pub enum OnTimeout {
        /// The run stops.
        Fail = "fail",
        /// The run goes on. Silence counts as consent, so an agent may not ask for this unless it
        /// is the configured policy.
        Approve = "approve",
        /// The run stops, as after a rejection.
        Reject = "reject",
        /// The run opens a new gate. Only for runs that Folkmoot executes.
        Retry = "retry",
        /// The log and the feed announce it, and the gate waits once more. After that the run
        /// stops.
        Escalate = "escalate",
    }
}

vocabulary! {
    /// What follows for the run.
    pub enum Next {
        /// It goes on.
        Proceed = "proceed",
        /// It stops.
        Stop = "stop",
        /// It changes something, and comes back with another gate.
        Retry = "retry",
    }
}

vocabulary! {
    /// Whether whoever started a run may decide on its gates.
    pub enum SelfReview {
        Allow = "allow",
        Deny = "deny",
    }
}
