//! Gate points: whether a phase has a gate at all, answered for nothing when it has none.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::DecisionWord;
use crate::Phase;

/// Which phases of a run have gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Master switch for all gates.
    pub enabled: bool,
    /// Phases where gates are checked.
    pub gate_points: Vec<Phase>,
    /// How long to wait.
    #[serde(rename = "timeout_ms")]
    pub timeout: crate::Timeout,
    /// Channels to notify when a gate is pending.
    pub notification_channels: Vec<String>,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            gate_points: Vec::new(),
            timeout: crate::Timeout::After(Duration::from_secs(30 * 60)),
            notification_channels: Vec::new(),
        }
    }
}

/// What a phase finds at its end: an approval by the policy, or a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseCheck {
    /// No gate here: it goes on at once.
    Approved(AutoApproved),
    /// A gate is to be opened and waited for.
    Gate,
}

/// The decision where no gate is: no allocation, no clock and no row. The time is stamped where it
/// is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AutoApproved {
    /// There is no request.
    pub request_id: &'static str,
    /// Always `approved`.
    pub decision: DecisionWord,
    /// Always `auto`.
    pub reviewer: &'static str,
    /// Why there is no gate.
    pub reason: &'static str,
}

impl GateConfig {
    /// Whether `phase` ends at a gate.
    #[inline]
    pub fn check(&self, phase: &str) -> PhaseCheck {
        if self.enabled && self.gate_points.iter().any(|point| point.as_str() == phase) {
            return PhaseCheck::Gate;
        }
        PhaseCheck::Approved(AutoApproved {
            request_id: "",
            decision: DecisionWord::Approved,
            reviewer: "auto",
            reason: "gate not enabled for this phase",
        })
    }
}
