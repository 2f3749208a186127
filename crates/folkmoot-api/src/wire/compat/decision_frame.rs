//! The frames of `/api/ws`, in the format that front ends for quality gates read.

use folkmoot_core::{GateId, Name, Phase, Timestamp, gate::GateType};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One message of `/api/ws`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Frame)]
pub struct DecisionFrame {
    /// Always `event`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's position in the log. Reconnect with it as `after` to continue from here.
    pub position: u64,
    #[serde(flatten)]
    pub told: DecisionFrameBody,
}

impl DecisionFrame {
    pub fn new(position: u64, told: DecisionFrameBody) -> Self {
        Self { kind: "event".to_owned(), position, told }
    }
}

/// The type and the data of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Told)]
#[serde(tag = "event_type", content = "data", rename_all = "snake_case")]
pub enum DecisionFrameBody {
    /// A gate waits for a decision.
    DecisionRequired(Required),
    /// A gate was decided.
    DecisionResolved(Resolved),
}

/// A gate that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Required {
    pub decision_id: GateId,
    /// The id of the gate's run, or of its session if it has no run; empty if it has neither.
    pub task_id: String,
    /// The run's title, or the gate's if the run has none.
    pub task_title: String,
    /// The part of the work that the gate belongs to, as its requester named it.
    pub phase: Phase,
    /// Whether people or the configuration decide.
    pub gate_type: GateType,
    /// The gate's title.
    pub question: String,
    /// The gate's summary.
    pub context: String,
    /// When the gate was opened.
    pub requested_at: Timestamp,
}

/// A gate that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    pub decision_id: GateId,
    /// The id of the gate's run, or of its session if it has no run; empty if it has neither.
    pub task_id: String,
    /// The part of the work that the gate belongs to, as its requester named it.
    pub phase: Phase,
    /// Whether the run may go on.
    pub approved: bool,
    pub reason: String,
    /// The principal that decided; `timeout` if the deadline passed.
    pub resolved_by: Name,
    pub resolved_at: Timestamp,
}
