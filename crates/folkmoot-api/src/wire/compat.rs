//! The bodies of the routes that are compatible with other systems, in the formats of those
//! systems.

mod debate_gates;
pub mod decision_frame;
mod plan;

pub use debate_gates::{GateDecision, GateRequest, GateRequests};
pub use plan::{
    ApprovalRequest, ApprovalResponse, AwaitingCheckpoint, AwaitingProposal, PlanAnswer, PlanCancelled, PlanComplete,
    PlanError, PlanInProgress, PlanPaused, PlanRequest,
};
