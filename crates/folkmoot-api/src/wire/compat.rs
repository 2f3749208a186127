//! The bodies of the compatible routes, in the shapes of the systems that they are compatible with.

mod debate_gates;
pub mod decision_frame;
mod plan;

pub use debate_gates::{GateDecision, GateRequest, GateRequests};
pub use plan::{
    ApprovalRequest, ApprovalResponse, AwaitingCheckpoint, AwaitingProposal, PlanAnswer, PlanCancelled, PlanComplete,
    PlanError, PlanInProgress, PlanPaused, PlanRequest,
};
