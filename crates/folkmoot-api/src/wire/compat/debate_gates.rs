//! A gate of a debate and its decision, in the shapes of HelixAgent's gate API.

use std::collections::BTreeMap;

use folkmoot_core::{GateId, GateStatus, Name, Phase, RunId, SessionId, Timestamp, gate::DecisionWord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A gate of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateRequest {
    /// Unique across everything.
    pub id: GateId,
    /// The debate that waits.
    pub debate_id: RunId,
    pub session_id: SessionId,
    /// After which phase.
    pub phase: Phase,
    /// What is to be decided; empty where it was erased.
    pub summary: String,
    /// What can be looked at, by name: JSON as JSON, and all else as text. Null where it was
    /// erased.
    #[schema(value_type = Object)]
    pub artifacts: BTreeMap<String, Value>,
    /// When it was opened.
    pub requested_at: Timestamp,
    /// Where it is.
    pub status: GateStatus,
}

/// The gates of a debate that wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateRequests {
    /// The newest first.
    pub gates: Vec<GateRequest>,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateDecision {
    /// On which gate.
    pub request_id: GateId,
    pub decision: DecisionWord,
    pub reviewer: Name,
    pub reason: String,
    pub decided_at: Timestamp,
}
