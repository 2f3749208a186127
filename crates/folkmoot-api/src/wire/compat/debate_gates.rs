//! A gate of a debate and its decision, in the format of HelixAgent's gate API.

use std::collections::BTreeMap;

use folkmoot_core::{GateId, GateStatus, Name, Phase, RunId, SessionId, Timestamp, gate::DecisionWord};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A gate of a debate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateRequest {
    pub id: GateId,
    /// The debate that waits at the gate.
    pub debate_id: RunId,
    pub session_id: SessionId,
    /// The phase after which the debate waits.
    pub phase: Phase,
    /// What is to be decided; empty if it was erased.
    pub summary: String,
    /// The content to review, by name. JSON artifacts are JSON values, all others strings, and
    /// erased ones `null`.
    #[schema(value_type = Object)]
    pub artifacts: BTreeMap<String, Value>,
    /// When the gate was opened.
    pub requested_at: Timestamp,
    pub status: GateStatus,
}

/// The pending gates of a debate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GateRequests {
    /// Newest first.
    pub gates: Vec<GateRequest>,
}

/// The decision on a gate of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GateDecision {
    /// The id of the gate.
    pub request_id: GateId,
    pub decision: DecisionWord,
    pub reviewer: Name,
    pub reason: String,
    pub decided_at: Timestamp,
}
