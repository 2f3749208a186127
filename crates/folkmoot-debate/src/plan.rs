//! A plan: a proposal that people approve, iterations that people review at checkpoints, and a
//! final plan made from the accepted iterations.
//!
//! ```text
//!            ┌─adjust─┐                        ┌──────approve · adjust──────┐
//!            ▼        │                        ▼                            │
//!   goal ─▶ proposal gate ──approve──▶ iterations ──each interval──▶ checkpoint gate
//!            ├─reject──▶ cancelled    approve (last) · pause · reject ──▶ synthesis ─▶ complete
//!            └─expiry──▶ session_expired                       expiry ──▶ session_expired
//! ```
//!
//! People were shown everything that is in the final plan: the last iteration ends at a checkpoint
//! too. A plan of a single iteration has no gates.

mod approval;
mod entity;
mod iteration;
mod progress;
#[cfg(test)]
mod tests;

use folkmoot_core::{Refusal, vocabulary};
use serde::{Deserialize, Serialize};

pub use approval::{ApprovalStatus, ApprovalType, PlanGateRequest, named};
pub use entity::{Entity, entities};
pub use iteration::{Iteration, IterationTotals, NumberedIteration, summary};
pub use progress::{PlanActivity, PlanEvent, PlanProgress};

/// The workflow of plans, with its version.
pub const WORKFLOW: &str = "plan@1";
/// The longest goal.
pub const GOAL_BYTES_MAX: usize = 16 * 1024;
/// The most iterations.
pub const ITERATIONS_MAX: u32 = 20;
/// The most iterations between two checkpoints.
pub const INTERVAL_MAX: u32 = 10;

/// The failure codes of plans that did not reach their end, in events and in answers of the API.
pub mod code {
    /// The proposal was rejected.
    pub const REJECTED_PROPOSAL: &str = "user_rejected_proposal";
    /// The first checkpoint was rejected, and nothing was accepted before it.
    pub const REJECTED_CHECKPOINT: &str = "user_rejected_checkpoint";
    /// Nobody decided before the session expired.
    pub const EXPIRED: &str = "session_expired";
    /// No iteration produced anything.
    pub const NOTHING: &str = "nothing_produced";
}

vocabulary! {
    /// Where a plan is, in the planner API's words.
    pub enum PlanStatus {
        /// It is being made.
        InProgress = "planning_in_progress",
        /// People must decide.
        AwaitingApproval = "awaiting_approval",
        /// It is made and stored.
        Complete = "complete",
        /// Somebody rejected it, or ended it.
        Cancelled = "cancelled",
        /// It cannot be made.
        Error = "error",
    }
}

vocabulary! {
    /// What becomes of a checkpoint at which nobody decided in time.
    pub enum OnExpiry {
        /// The session expires, and there is no plan.
        Fail = "fail",
        /// The iterations since the last checkpoint are left out, and the plan is made of those
        /// that were accepted before.
        Reject = "reject",
    }
}

/// How many iterations a plan has, and how often people review it. It is part of what people
/// approve, and no later request changes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    pub max_iterations: u32,
    /// A checkpoint follows each time after this many iterations.
    pub checkpoint_interval: u32,
}

impl Pace {
    /// Refuses numbers that are out of range.
    pub fn check(self) -> Result<(), Refusal> {
        let within = |field, given, most| {
            if (1..=most).contains(&given) { Ok(()) } else { Err(Refusal::OutOfRange { field, given, least: 1, most }) }
        };
        within("max_iterations", self.max_iterations, ITERATIONS_MAX)?;
        within("checkpoint_interval", self.checkpoint_interval, INTERVAL_MAX)
    }

    /// Whether people are asked at all.
    pub fn asks(self) -> bool {
        self.max_iterations > 1
    }

    /// Whether a checkpoint follows this iteration.
    pub fn stops_after(self, iteration: u32) -> bool {
        self.asks() && (iteration.is_multiple_of(self.checkpoint_interval) || iteration == self.max_iterations)
    }
}
