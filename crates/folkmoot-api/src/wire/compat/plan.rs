//! The requests and responses of the planner API (`/api/plan`, `/api/approve`).

use folkmoot_core::{Name, SessionId, Timestamp};
use folkmoot_debate::plan::{ApprovalStatus, ApprovalType};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Starts a plan (planner API).
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"goal": "Open a second bakery", "max_iterations": 6, "checkpoint_interval": 3}))]
pub struct PlanRequest {
    /// What the plan should achieve.
    #[schema(min_length = 1, max_length = 16384)]
    pub goal: String,
    /// The number of iterations; default 6. With more than one, people first decide on a proposal;
    /// with one, nobody is asked.
    #[schema(minimum = 1, maximum = 20)]
    pub max_iterations: Option<u32>,
    /// The number of iterations between two checkpoints; default 3.
    #[schema(minimum = 1, maximum = 10)]
    pub checkpoint_interval: Option<u32>,
    /// The plan's session; by default a new one.
    pub session_id: Option<SessionId>,
    /// Parts of earlier plans to build on, each as `plan/entity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
}

/// Decides on a proposal or a checkpoint.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalResponse {
    /// The `approval_id` of the request.
    pub approval_id: String,
    /// The decision. It is required; there is no default.
    pub approval_status: ApprovalStatus,
    /// With `adjust_requested`: a proposal that replaces the one that was shown.
    pub adjusted_proposal: Option<String>,
    /// With `adjust_strategy`: how to continue from here.
    pub adjusted_strategy: Option<String>,
    /// What to change, or the reason for the decision.
    pub feedback: Option<String>,
    /// The session of the approval. Required if the id does not contain it: a bare
    /// `checkpoint_iter3` exists in every session.
    pub session_id: Option<SessionId>,
    /// Must be your own name, if it is given: the token says who decides.
    pub reviewer: Option<Name>,
    /// Ignored. The time at which the request arrives counts.
    pub timestamp: Option<String>,
}

/// The state of a plan.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum PlanAnswer {
    /// A proposal waits for a decision.
    Proposal(AwaitingProposal),
    /// A checkpoint waits for a decision.
    Checkpoint(AwaitingCheckpoint),
    /// The plan is complete.
    Complete(PlanComplete),
    /// A reviewer paused the plan at a checkpoint; the final plan is made from the iterations so
    /// far.
    Paused(PlanPaused),
    /// The plan is being worked on.
    InProgress(PlanInProgress),
    /// The plan was rejected or cancelled.
    Cancelled(PlanCancelled),
}

/// A request for an approval. Fields that do not belong to its type are `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequest {
    /// Always `awaiting_approval`.
    pub status: String,
    /// `proposal` or `checkpoint`.
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// The proposal.
    pub proposal: Option<String>,
    /// What the plan should achieve.
    pub goal: Option<String>,
    /// The number of iterations that the plan will have.
    pub estimated_iterations: Option<u32>,
    /// The number of iterations between two checkpoints.
    pub checkpoint_interval: Option<u32>,
    /// What was found since the last checkpoint.
    pub checkpoint_summary: Option<String>,
    /// The number of the iteration after which the plan stopped here.
    pub iteration: Option<u32>,
    /// The number of iterations of the plan.
    pub total_iterations: Option<u32>,
    /// The insights since the last checkpoint.
    pub insights: Option<Vec<String>>,
    /// When the approval was requested.
    pub timestamp: Timestamp,
    pub session_id: SessionId,
}

/// A proposal that waits for approval (phase 1).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AwaitingProposal {
    /// Always `awaiting_approval`.
    pub status: String,
    /// Always `proposal`.
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// The complete text of the proposal.
    pub proposal: String,
    /// What the plan should achieve.
    pub goal: String,
    /// The number of iterations that the plan will have.
    pub estimated_iterations: u32,
    /// The number of iterations between two checkpoints.
    pub checkpoint_interval: u32,
    pub session_id: SessionId,
    /// When the approval was requested.
    pub timestamp: Timestamp,
    /// What to do next.
    pub next_action: String,
    /// The same request once more, as one object.
    pub approval_request: ApprovalRequest,
}

/// A plan whose iterations are being worked on (phase 2).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanInProgress {
    /// Always `planning_in_progress`.
    pub status: String,
    pub session_id: SessionId,
    /// The iteration that began last; 0 before the first.
    pub current_iteration: u32,
    /// The number of iterations of the plan.
    pub total_iterations: u32,
    /// What the plan is doing now, in one line.
    pub message: String,
}

/// A checkpoint that waits for approval (phase 3).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AwaitingCheckpoint {
    /// Always `awaiting_approval`.
    pub status: String,
    /// Always `checkpoint`.
    pub approval_type: ApprovalType,
    pub approval_id: String,
    /// The number of the iteration after which the plan stopped here.
    pub iteration: u32,
    /// The number of iterations of the plan.
    pub total_iterations: u32,
    /// What was found since the last checkpoint, as a complete text.
    pub checkpoint_summary: String,
    /// The insights since the last checkpoint.
    pub insights: Vec<String>,
    /// The number of frameworks so far.
    pub frameworks_evolved: u64,
    /// The number of data points so far.
    pub data_points_collected: u64,
    pub session_id: SessionId,
    /// When the approval was requested.
    pub timestamp: Timestamp,
    /// What to do next.
    pub next_action: String,
    /// The same request once more, as one object.
    pub approval_request: ApprovalRequest,
}

/// A complete plan (phase 4).
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanComplete {
    /// Always `complete`.
    pub status: String,
    pub session_id: SessionId,
    /// The last iteration that the plan contains.
    pub iterations_completed: u32,
    /// The number of iterations of the plan.
    pub total_iterations: u32,
    /// The complete text of the plan.
    pub final_plan: String,
    /// Always true: a plan is complete only when it has been saved.
    pub plan_saved_to_memory: bool,
    /// The names of the plan's parts.
    pub memory_entities: Vec<String>,
    /// When the plan was completed.
    pub timestamp: Timestamp,
}

/// A plan that was rejected or cancelled.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanCancelled {
    /// Always `cancelled`.
    pub status: String,
    /// A code such as `user_rejected_proposal`.
    pub reason: String,
    /// A message for people.
    pub message: String,
    pub session_id: SessionId,
}

/// A plan that a reviewer paused at a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanPaused {
    /// Always `paused`.
    pub status: String,
    /// Always `user_requested_pause`.
    pub reason: String,
    /// The number of the iteration after which the plan stopped here.
    pub iteration: u32,
    /// The number of iterations of the plan.
    pub total_iterations: u32,
    /// A message for people.
    pub message: String,
    pub session_id: SessionId,
    /// What happens next.
    pub next_action: String,
}

/// An error of the planner API.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanError {
    /// Always `error`.
    pub status: String,
    /// The stable error code, as in docs/errors.md.
    pub error: String,
    /// The same code as in `error`.
    pub code: String,
    /// What happened, and what to do about it.
    pub message: String,
    /// The approval that the request named, or at which the plan waits.
    pub approval_id: Option<String>,
    pub session_id: Option<SessionId>,
}
