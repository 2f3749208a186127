//! Nodes: the servers that execute runs, and how each says that it lives.

use std::time::Duration;

use crate::{
    Commit, Name, Row,
    judge::{Case, RefusedWith},
};

/// What a node says of itself.
#[derive(Clone, Debug)]
pub enum Action {
    /// It lives.
    Heartbeat {
        node: Name,
        /// For so much longer.
        span: Duration,
        /// No other node can live: the database is this one's alone.
        alone: bool,
    },
    /// It ends, and lets go of its runs.
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
