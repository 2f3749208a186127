//! The planner API: its requests and answers.

use folkmoot_core::{Name, SessionId, Timestamp};
use folkmoot_debate::plan::{ApprovalStatus, ApprovalType};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Asks for a plan.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"goal": "Open a second bakery", "max_iterations": 6, "checkpoint_interval": 3}))]
pub struct PlanRequest {
    /// What the plan is for.
    #[schema(min_length = 1, max_length = 16384)]
    pub goal: String,
    /// How many iterations; 6 unless it is given. One runs at once, more are proposed first.
    #[schema(minimum = 1, maximum = 20)]
    pub max_iterations: Option<u32>,
    /// After how many of them people are asked; 3 unless it is given.
    #[schema(minimum = 1, maximum = 10)]
    pub checkpoint_interval: Option<u32>,
    /// The session; one of its own unless it is given.
    pub session_id: Option<SessionId>,
    /// Parts of earlier plans to build on, each as `plan/entity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
}

/// Says what becomes of a proposal or a checkpoint.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalResponse {
    /// As the request calls it.
    pub approval_id: String,
    /// What becomes of it. There is none that is meant when nothing is said.
    pub approval_status: ApprovalStatus,
    /// A proposal to put in place of the one that was shown, with `adjust_requested`.
    pub adjusted_proposal: Option<String>,
    /// How to go on from here, with `adjust_strategy`.
    pub adjusted_strategy: Option<String>,
    /// What to change, or why.
    pub feedback: Option<String>,
    /// Whose approval it is, where the id does not say: a bare `checkpoint_iter3` exists in every
    /// session.
    pub session_id: Option<SessionId>,
    /// Who decides: nobody but you.
    pub reviewer: Option<Name>,
    /// When it was said. What counts is when it arrived.
    pub timestamp: Option<String>,
}

/// Where a plan is.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PlanAnswer {
    /// People must decide on a proposal.
    Proposal(AwaitingProposal),
    /// People must decide on what was found so far.
    Checkpoint(AwaitingCheckpoint),
    /// It is complete.
    Complete(PlanComplete),
    /// Somebody paused it, and it is concluded.
    Paused(PlanPaused),
    /// It is being made.
    InProgress(PlanInProgress),
    /// Somebody rejected it, or ended it.
    Cancelled(PlanCancelled),
}

/// A request for an approval. What does not belong to its type is `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequest {
    /// `awaiting_approval`
    pub status: String,
    /// `proposal` or `checkpoint`
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// What is proposed.
    pub proposal: Option<String>,
    /// What the plan is for.
    pub goal: Option<String>,
    /// How many iterations it will have.
    pub estimated_iterations: Option<u32>,
    /// After how many of them people are asked.
    pub checkpoint_interval: Option<u32>,
    /// What was found so far.
    pub checkpoint_summary: Option<String>,
    /// After which iteration.
    pub iteration: Option<u32>,
    /// Of so many.
    pub total_iterations: Option<u32>,
    /// What was found since the last checkpoint.
    pub insights: Option<Vec<String>>,
    /// When it was asked.
    pub timestamp: Timestamp,
    /// In which session.
    pub session_id: SessionId,
}

/// The proposal waits for approval (phase 1).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AwaitingProposal {
    /// `awaiting_approval`
    pub status: String,
    /// `proposal`
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// What is proposed, whole.
    pub proposal: String,
    /// What the plan is for.
    pub goal: String,
    /// How many iterations it will have.
    pub estimated_iterations: u32,
    /// After how many of them people are asked.
    pub checkpoint_interval: u32,
    /// In which session.
    pub session_id: SessionId,
    /// When it was asked.
    pub timestamp: Timestamp,
    /// What to do.
    pub next_action: String,
    /// The same once more.
    pub approval_request: ApprovalRequest,
}

/// Iterations are being worked on (phase 2).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanInProgress {
    /// `planning_in_progress`
    pub status: String,
    /// In which session.
    pub session_id: SessionId,
    /// The iteration that was begun last; 0 before the first.
    pub current_iteration: u32,
    /// Of so many.
    pub total_iterations: u32,
    /// What it does, in a line.
    pub message: String,
}

/// A checkpoint waits for approval (phase 3).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AwaitingCheckpoint {
    /// `awaiting_approval`
    pub status: String,
    /// `checkpoint`
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// After which iteration.
    pub iteration: u32,
    /// Of so many.
    pub total_iterations: u32,
    /// What was found since the last checkpoint, whole.
    pub checkpoint_summary: String,
    /// What matters most of it.
    pub insights: Vec<String>,
    /// Frameworks that there are by now.
    pub frameworks_evolved: u64,
    /// Data points that there are by now.
    pub data_points_collected: u64,
    /// In which session.
    pub session_id: SessionId,
    /// When it was asked.
    pub timestamp: Timestamp,
    /// What to do.
    pub next_action: String,
    /// The same once more.
    pub approval_request: ApprovalRequest,
}

/// The plan is complete (phase 4).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanComplete {
    /// `complete`
    pub status: String,
    /// In which session.
    pub session_id: SessionId,
    /// The last iteration that is in it.
    pub iterations_completed: u32,
    /// Of so many.
    pub total_iterations: u32,
    /// All of it.
    pub final_plan: String,
    /// Always true: it is complete once it is saved.
    pub plan_saved_to_memory: bool,
    /// The names of its parts.
    pub memory_entities: Vec<String>,
    /// When it was complete.
    pub timestamp: Timestamp,
}

/// Somebody rejected it, or ended it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanCancelled {
    /// `cancelled`
    pub status: String,
    /// Such as `user_rejected_proposal`.
    pub reason: String,
    /// For people.
    pub message: String,
    /// In which session.
    pub session_id: SessionId,
}

/// Somebody paused it at a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanPaused {
    /// `paused`
    pub status: String,
    /// `user_requested_pause`
    pub reason: String,
    /// After which iteration.
    pub iteration: u32,
    /// Of so many.
    pub total_iterations: u32,
    /// For people.
    pub message: String,
    /// In which session.
    pub session_id: SessionId,
    /// What comes next.
    pub next_action: String,
}

/// It did not work.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanError {
    /// `error`
    pub status: String,
    /// Which sort of error: stable, as in docs/errors.md.
    pub error: String,
    /// The same.
    pub code: String,
    /// What happened, and what to do.
    pub message: String,
    /// Which approval.
    pub approval_id: Option<String>,
    /// In which session.
    pub session_id: Option<SessionId>,
}
