//! The gates of a plan in the planner API: what they are called, and what people can decide there.

use folkmoot_core::{SessionId, gate::Choice, vocabulary};
use serde::{Deserialize, Serialize};

use super::Pace;

vocabulary! {
    /// Which gate of a plan.
    pub enum ApprovalType {
        /// Before the first iteration.
        Proposal = "proposal",
        /// After an iteration.
        Checkpoint = "checkpoint",
    }
}

vocabulary! {
    /// What a person decides at a gate of a plan. Each type of gate takes its own statuses. There
    /// is no default.
    pub enum ApprovalStatus {
        /// Accept what is shown, and go on.
        Approved = "approved",
        /// Reject what is shown.
        Rejected = "rejected",
        /// Make another proposal.
        AdjustRequested = "adjust_requested",
        /// Accept what is shown, stop iterating, and make the final plan.
        Paused = "paused",
        /// Accept what is shown, and go on with a changed strategy.
        AdjustStrategy = "adjust_strategy",
    }
}

impl ApprovalType {
    /// What can be decided at this type of gate.
    pub const fn statuses(self) -> &'static [ApprovalStatus] {
        use ApprovalStatus::{AdjustRequested, AdjustStrategy, Approved, Paused, Rejected};
        match self {
            ApprovalType::Proposal => &[Approved, Rejected, AdjustRequested],
            ApprovalType::Checkpoint => &[Approved, Paused, AdjustStrategy, Rejected],
        }
    }
}

impl ApprovalStatus {
    /// The same decision in the words of all gates.
    pub const fn choice(self) -> Choice {
        match self {
            ApprovalStatus::Approved => Choice::Approve,
            ApprovalStatus::Rejected => Choice::Reject,
            ApprovalStatus::AdjustRequested | ApprovalStatus::AdjustStrategy => Choice::Adjust,
            ApprovalStatus::Paused => Choice::Pause,
        }
    }
}

/// What a gate of a plan asks, besides the text that is shown. It is part of the gate's content, so
/// that a person who approves the gate has approved the pace too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGateRequest {
    pub approval_type: ApprovalType,
    pub goal: String,
    #[serde(flatten)]
    pub pace: Pace,
    /// The number of the proposal, counted from 1; for a checkpoint, the iteration that it follows.
    pub number: u32,
    /// What was found since the last checkpoint.
    #[serde(default)]
    pub insights: Vec<String>,
    /// How many frameworks there are by now.
    #[serde(default)]
    pub frameworks_evolved: usize,
    /// How many data points there are by now.
    #[serde(default)]
    pub data_points_collected: usize,
}

impl PlanGateRequest {
    /// Its id in the planner API. It contains the session, because a bare `checkpoint_iter3` would
    /// be the same in every session. A proposal after the first also has its number, after a `~`,
    /// which no session id contains.
    pub fn approval_id(&self, session: &SessionId) -> String {
        match (self.approval_type, self.number) {
            (ApprovalType::Proposal, 1) => format!("proposal_{session}"),
            (ApprovalType::Proposal, number) => format!("proposal_{session}~{number}"),
            (ApprovalType::Checkpoint, number) => format!("checkpoint_iter{number}_{session}"),
        }
    }

    /// Whether `id` is its id, or its short name for a caller that has already named the session.
    pub fn is_called(&self, id: &str, session: &SessionId) -> bool {
        let short = match (self.approval_type, self.number) {
            (ApprovalType::Proposal, 1) => Some("proposal".to_owned()),
            (ApprovalType::Proposal, _) => None,
            (ApprovalType::Checkpoint, number) => Some(format!("checkpoint_iter{number}")),
        };
        id == self.approval_id(session) || short.as_deref() == Some(id)
    }
}

/// The session that an approval's id contains, if it contains one.
pub fn named(id: &str) -> Option<SessionId> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let session = match id.strip_prefix("proposal_") {
        Some(session) => session.split_once('~').map_or(session, |(session, _)| session),
        None => {
            let (number, session) = id.strip_prefix("checkpoint_iter")?.split_once('_')?;
            is_number(number).then_some(session)?
        }
    };
    session.parse().ok()
}
