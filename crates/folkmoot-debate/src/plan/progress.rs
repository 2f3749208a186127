//! How far a plan has come, derived from its events.

use serde::{Deserialize, Serialize};

use super::Pace;

/// An event that a plan's workflow appends to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlanEvent {
    /// `plan.started`
    Started {
        goal: String,
        #[serde(flatten)]
        pace: Pace,
        /// The provider whose model it asks.
        provider: String,
    },
    /// `plan.iteration`
    Iterated {
        /// Counted from 1.
        iteration: u32,
        total_iterations: u32,
        /// The iteration's title, or why it produced nothing.
        title: String,
        /// Whether it produced anything.
        produced: bool,
        insights: Vec<String>,
        /// How many frameworks there are by now.
        frameworks_evolved: usize,
        /// How many data points there are by now.
        data_points_collected: usize,
    },
    /// `plan.iteration_started`
    Iterates {
        /// Counted from 1.
        iteration: u32,
        total_iterations: u32,
    },
    /// `plan.synthesis_started`
    Concludes {
        /// The iterations that were accepted.
        accepted: Vec<u32>,
    },
}

impl PlanEvent {
    /// The event's type.
    pub const fn kind(&self) -> &'static str {
        match self {
            PlanEvent::Started { .. } => "plan.started",
            PlanEvent::Iterates { .. } => "plan.iteration_started",
            PlanEvent::Iterated { .. } => "plan.iteration",
            PlanEvent::Concludes { .. } => "plan.synthesis_started",
        }
    }

    /// Reads an event from the log; `None` if it is not a plan's event or cannot be read.
    pub fn read(kind: &str, payload: &str) -> Option<Self> {
        serde_json::from_str::<Self>(payload).ok().filter(|told| told.kind() == kind)
    }
}

/// How far a plan has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanProgress {
    /// The iteration that began last; 0 before the first.
    pub current_iteration: u32,
    /// How many iterations are over.
    pub completed: u32,
    pub doing: PlanActivity,
}

/// What a plan is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanActivity {
    /// It makes a proposal.
    #[default]
    Proposes,
    /// It iterates.
    Iterates,
    /// It makes the final plan.
    Concludes,
}

impl PlanProgress {
    /// Updates the progress with the next event.
    pub fn apply(&mut self, told: &PlanEvent) {
        match told {
            PlanEvent::Started { .. } => {}
            PlanEvent::Iterates { iteration, .. } => {
                (self.current_iteration, self.doing) = (*iteration, PlanActivity::Iterates);
            }
            PlanEvent::Iterated { iteration, .. } => self.completed = *iteration,
            PlanEvent::Concludes { .. } => self.doing = PlanActivity::Concludes,
        }
    }
}
