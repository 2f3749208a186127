//! Nodes: the servers that execute runs, and their heartbeats.

use std::time::Duration;

use crate::{
    Commit, Name, Row,
    judge::{Case, RefusedWith},
};

/// What a node reports about itself.
#[derive(Clone, Debug)]
pub enum Action {
    /// The node is alive for another `span`.
    Heartbeat {
        node: Name,
        span: Duration,
        /// Whether no other node can be alive, because this node has the database to itself.
        alone: bool,
    },
    /// The node shuts down, so that other nodes can claim its runs.
    Leave { node: Name },
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Heartbeat { .. } => "node.heartbeat",
            Action::Leave { .. } => "node.leave",
        }
    }

    pub(crate) fn judge(&self, case: &Case<'_>) -> Result<Commit, RefusedWith> {
        case.must_be_system("be a node")?;
        let row = match self {
            Action::Heartbeat { node, span, alone } => {
                Row::Node { node: node.clone(), until: case.now.plus(*span), alone: *alone }
            }
            Action::Leave { node } => Row::NodeGone(node.clone()),
        };
        Ok(Commit { rows: vec![row], ..Commit::default() })
    }
}
