//! Gate points: whether a phase ends at a gate. The check costs next to nothing if it does not.

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
    /// Phases that end at a gate.
    pub gate_points: Vec<Phase>,
    /// How long each gate waits.
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

/// What there is at the end of a phase: an automatic approval, or a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseCheck {
    /// There is no gate, so the run goes on at once.
    Approved(AutoApproved),
    /// A gate must be opened and waited for.
    Gate,
}

/// The decision for a phase without a gate. It takes no allocation, no clock and no row; the time
/// is added where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AutoApproved {
    /// Always empty, because there is no request.
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
