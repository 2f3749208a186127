//! What the planner API calls the gates of a plan, and what is said at them there.

use folkmoot_core::{SessionId, gate::Choice, vocabulary};
use serde::{Deserialize, Serialize};

use super::Pace;

vocabulary! {
    /// Which gate of a plan.
    pub enum ApprovalType {
        /// Before it begins.
        Proposal = "proposal",
        /// On its way.
        Checkpoint = "checkpoint",
    }
}

vocabulary! {
    /// What is said at one. Each type takes its own; there is none that is meant when nothing is
    /// said.
    pub enum ApprovalStatus {
        /// Go on.
        Approved = "approved",
        /// Do not.
        Rejected = "rejected",
        /// Another proposal.
        AdjustRequested = "adjust_requested",
        /// Make the plan of what there is.
        Paused = "paused",
        /// Go on, but otherwise.
        AdjustStrategy = "adjust_strategy",
    }
}

impl ApprovalType {
    /// What can be said at it.
    pub const fn statuses(self) -> &'static [ApprovalStatus] {
        use ApprovalStatus::{AdjustRequested, AdjustStrategy, Approved, Paused, Rejected};
        match self {
            ApprovalType::Proposal => &[Approved, Rejected, AdjustRequested],
            ApprovalType::Checkpoint => &[Approved, Paused, AdjustStrategy, Rejected],
        }
    }
}

impl ApprovalStatus {
    /// The same at any gate.
    pub const fn choice(self) -> Choice {
        match self {
            ApprovalStatus::Approved => Choice::Approve,
            ApprovalStatus::Rejected => Choice::Reject,
            ApprovalStatus::AdjustRequested | ApprovalStatus::AdjustStrategy => Choice::Adjust,
            ApprovalStatus::Paused => Choice::Pause,
        }
    }
}

/// What a gate of a plan asks, beside the text that is shown. It is part of the gate's content, so
/// that whoever approves has approved the pace too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanGateRequest {
    pub approval_type: ApprovalType,
    /// What the plan is for.
    pub goal: String,
    /// How far it goes.
    #[serde(flatten)]
    pub pace: Pace,
    /// Which proposal it is, from 1; for a checkpoint the iteration after which it stands.
    pub number: u32,
    /// What was found since the last checkpoint.
    #[serde(default)]
    pub insights: Vec<String>,
    /// Frameworks that there are by now.
    #[serde(default)]
    pub frameworks_evolved: usize,
    /// Data points that there are by now.
    #[serde(default)]
    pub data_points_collected: usize,
}

impl PlanGateRequest {
    /// Its name in the planner API. A bare `checkpoint_iter3` names one in every session, so the
    /// session is in it, and for another proposal its number, behind a letter that no session's
    /// name has.
    pub fn approval_id(&self, session: &SessionId) -> String {
        match (self.approval_type, self.number) {
            (ApprovalType::Proposal, 1) => format!("proposal_{session}"),
            (ApprovalType::Proposal, number) => format!("proposal_{session}~{number}"),
            (ApprovalType::Checkpoint, number) => format!("checkpoint_iter{number}_{session}"),
        }
    }

    /// Whether this is what somebody calls it who has named the session.
    pub fn is_called(&self, id: &str, session: &SessionId) -> bool {
        let short = match (self.approval_type, self.number) {
            (ApprovalType::Proposal, 1) => Some("proposal".to_owned()),
            (ApprovalType::Proposal, _) => None,
            (ApprovalType::Checkpoint, number) => Some(format!("checkpoint_iter{number}")),
        };
        id == self.approval_id(session) || short.as_deref() == Some(id)
    }
}

/// The session that an approval's id names, where it names one.
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
