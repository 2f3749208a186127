//! A run, as far as gates need one: what cannot pass, and who started it.

use serde::{Deserialize, Serialize};

use crate::{Name, RunId, SessionId, Timestamp};

/// One durable execution of a workflow; here always somebody else's agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// As its starter calls it.
    pub id: RunId,
    /// What executes.
    pub kind: RunKind,
    /// Each run has exactly one.
    pub session_id: SessionId,
    /// Who started it.
    pub initiator: Name,
    /// When.
    pub started_at: Timestamp,
}

vocabulary! {
    /// What a run executes. Our own kinds come with the workflows.
    pub enum RunKind {
        /// Somebody else's agent.
        External = "external",
    }
}
