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
//! A closed gate never changes. From its deadline on a pending gate can only time out: nothing
//! approves it, whether or not the timer has come round yet. Nobody decides on a gate that they
//! opened, and no agent decides on any.

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

/// A gate as its row holds it: nothing but the fold of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// Unique across everything.
    pub id: GateId,
    /// The run that cannot pass, where there is one.
    pub run_id: Option<RunId>,
    /// The session it belongs to, where there is one.
    pub session_id: Option<SessionId>,
    /// What is to be decided on. The text itself is an artifact.
    pub content: Content,
    /// How it is decided.
    #[serde(rename = "type")]
    pub gate_type: GateType,
    /// Whether it blocks.
    pub mode: GateMode,
    /// The rule that made it stand here.
    pub why: String,
    /// The principal that opened it.
    pub requested_by: Name,
    /// The agent that the principal spoke for.
    pub on_behalf_of: Option<Name>,
    /// Who started the run, and so may not review it where `self_review` is `deny`.
    pub initiator: Option<Name>,
    /// Whether the run's initiator may decide.
    pub self_review: SelfReview,
    /// When it was opened.
    pub requested_at: Timestamp,
    /// How long it waits, and how much longer after an escalation.
    pub timeout: Timeout,
    /// The first moment too late.
    pub deadline: Deadline,
    /// Whether its one escalation has happened.
    pub escalated: bool,
    /// Rejections (or adjustments) needed to end it.
    pub reject_quorum: u32,
    /// What the requester calls it, so that it asks once.
    pub dedupe_key: Option<String>,
    /// Whom to tell, beside the feed.
    pub notification_channels: Vec<String>,
    /// What is said of it before its deadline.
    #[serde(default, skip_serializing_if = "Reminders::is_empty")]
    pub reminders: Reminders,
    /// How a person must show that they decide, where the configuration demanded something when it
    /// was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Counts the contents it has had, from 1.
    pub revision: u32,
    /// The digest of the content as it is now.
    pub digest: Digest,
    /// How many events its stream has.
    pub seq: u64,
    /// Pending, or closed for good.
    pub state: GateState,
}

/// Where a gate is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateState {
    /// It waits; the votes that were cast on this revision.
    Pending {
        /// One a person.
        votes: Vec<Vote>,
    },
    /// It is decided, for good.
    Closed(Decision),
}

/// One person's voice on one revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    pub reviewer: Name,
    pub choice: Choice,
    pub reason: String,
    pub at: Timestamp,
    /// How it was shown that a person said it; nothing in what older versions wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
}

/// What was decided on a gate, by whom, when, why, and about exactly which content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The gate's id, under the name that HelixAgent gives it.
    pub request_id: GateId,
    /// The word.
    pub decision: DecisionWord,
    /// Who, from the credential; `timeout` where it was the clock.
    pub reviewer: Name,
    pub reason: String,
    /// What to do otherwise, with an adjustment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// The digest of the text that the reviewer wrote instead; the text is an artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Digest>,
    pub decided_at: Timestamp,
    /// The content it was made on.
    pub digest: Digest,
    /// That content's revision.
    pub revision: u32,
    /// What follows for the run.
    pub outcome: Next,
    /// How it was shown that a person decided; nothing where none did, and in what older versions
    /// wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Every vote that counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

impl Gate {
    /// Whether its decision stops the run that opened it. Whoever executes a run and withdraws its
    /// question whether it may go on has no permission either, so that stops it too. A gate that
    /// somebody else put into the run, and withdrew, stops nothing.
    pub fn stops_its_run(&self) -> bool {
        self.decision().is_some_and(|decision| {
            let withdrawn = decision.decision == DecisionWord::Cancelled && decision.reviewer == self.requested_by;
            let of_another = self.initiator.as_ref().is_some_and(|initiator| *initiator != self.requested_by);
            decision.outcome == Next::Stop && !(withdrawn && of_another)
        })
    }

    /// When it was decided so that its run stops, or that it is to come back changed.
    pub fn stopped_at(&self) -> Option<Timestamp> {
        let stops = self.stops_its_run() || self.status() == GateStatus::AdjustRequested;
        self.decision().filter(|_| stops).map(|decision| decision.decided_at)
    }

    /// Whether people let its run go on, and not the configuration.
    pub fn is_approved_by_people(&self) -> bool {
        self.gate_type == GateType::Human && self.status() == GateStatus::Approved
    }

    /// The one word for where it is.
    pub fn status(&self) -> GateStatus {
        match &self.state {
            GateState::Pending { .. } => GateStatus::Pending,
            GateState::Closed(decision) => decision.decision.status(),
        }
    }

    /// The decision, once there is one.
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
        /// A plan on its way.
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
        /// By itself, where the configuration asks nobody.
        Auto = "auto",
        /// By people.
        Human = "human",
    }
}

vocabulary! {
    /// Whether a gate blocks its run. `reaction` comes with the workflows.
    pub enum GateMode {
        /// It blocks.
        Gate = "gate",
    }
}

vocabulary! {
    /// What is at stake, least first.
    pub enum Risk {
        /// Little.
        Low = "low",
        /// The usual.
        Medium = "medium",
        /// Much.
        High = "high",
        /// Too much for a decision that names no digest.
        Critical = "critical",
    }
}

vocabulary! {
    /// What a reviewer can say.
    pub enum Choice {
        /// Go on.
        Approve = "approve",
        /// Do not.
        Reject = "reject",
        /// Come back with something else.
        Adjust = "adjust",
        /// Stop here and conclude.
        Pause = "pause",
    }
}

vocabulary! {
    /// The word of a decision.
    pub enum DecisionWord {
        /// A reviewer, or the quorum, said yes.
        Approved = "approved",
        /// A reviewer said no.
        Rejected = "rejected",
        /// A proposal is to come back changed.
        AdjustRequested = "adjust_requested",
        /// A plan goes on differently.
        AdjustStrategy = "adjust_strategy",
        /// A plan goes to its synthesis.
        Paused = "paused",
        /// Nobody decided in time.
        TimedOut = "timed_out",
        /// An admin approved by force.
        Override = "override",
        /// It was withdrawn.
        Cancelled = "cancelled",
    }
}

vocabulary! {
    /// Where a gate is in its life, in one word.
    pub enum GateStatus {
        /// It waits.
        Pending = "pending",
        /// Yes.
        Approved = "approved",
        /// No.
        Rejected = "rejected",
        /// Come back changed.
        AdjustRequested = "adjust_requested",
        /// Go on differently.
        AdjustStrategy = "adjust_strategy",
        /// Conclude.
        Paused = "paused",
        /// Nobody decided in time.
        TimedOut = "timed_out",
        /// Withdrawn.
        Cancelled = "cancelled",
    }
}

impl DecisionWord {
    /// The status that a gate has after it.
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
        /// The run goes on. Consent by silence, so never an agent's to ask for.
        Approve = "approve",
        /// The run stops, as after a rejection.
        Reject = "reject",
        /// A new gate, for our own runs.
        Retry = "retry",
        /// The log and the feed say so, and it waits once more; then the run stops.
        Escalate = "escalate",
    }
}

vocabulary! {
    /// What follows for the run.
    pub enum Next {
        /// It goes on.
        Proceed = "proceed",
        /// It does not.
        Stop = "stop",
        /// It comes back with another gate.
        Retry = "retry",
    }
}

vocabulary! {
    /// Whether whoever started a run may decide on its gates.
    pub enum SelfReview {
        /// They may.
        Allow = "allow",
        /// They may not.
        Deny = "deny",
    }
}
