//! The frames of `/api/ws`, as front ends for quality gates read them.

use folkmoot_core::{GateId, Name, Phase, Timestamp, gate::GateType};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Frame)]
pub struct DecisionFrame {
    /// Always `event`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Come back with it as `after` to go on from here.
    pub position: u64,
    /// What is told.
    #[serde(flatten)]
    pub told: DecisionFrameBody,
}

impl DecisionFrame {
    /// A frame that tells of the event at `position`.
    pub fn new(position: u64, told: DecisionFrameBody) -> Self {
        Self { kind: "event".to_owned(), position, told }
    }
}

/// What a frame tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Told)]
#[serde(tag = "event_type", content = "data", rename_all = "snake_case")]
pub enum DecisionFrameBody {
    /// A gate waits for a decision.
    DecisionRequired(Required),
    /// It is decided.
    DecisionResolved(Resolved),
}

/// A gate that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Required {
    pub decision_id: GateId,
    /// Its run, else its session, else empty.
    pub task_id: String,
    /// The run's title, else the gate's.
    pub task_title: String,
    /// As its requester calls the part of the work.
    pub phase: Phase,
    /// How it is decided.
    pub gate_type: GateType,
    /// The gate's title.
    pub question: String,
    /// The gate's summary.
    pub context: String,
    /// When it was opened.
    pub requested_at: Timestamp,
}

/// A gate that is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resolved {
    pub decision_id: GateId,
    /// Its run, else its session, else empty.
    pub task_id: String,
    /// As its requester calls the part of the work.
    pub phase: Phase,
    /// Whether the run may go on.
    pub approved: bool,
    pub reason: String,
    /// Who; `timeout` where it was the clock.
    pub resolved_by: Name,
    pub resolved_at: Timestamp,
}
