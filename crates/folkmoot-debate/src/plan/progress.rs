//! How far a plan has come, as its events tell it.

use serde::{Deserialize, Serialize};

use super::Pace;

/// An event that a plan's workflow appends to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PlanEvent {
    /// `plan.started`
    Started {
        /// What it is for.
        goal: String,
        /// How far it goes.
        #[serde(flatten)]
        pace: Pace,
        /// Whom it asks.
        provider: String,
    },
    /// `plan.iteration`
    Iterated {
        /// Which one, from 1.
        iteration: u32,
        /// Of so many.
        total_iterations: u32,
        /// What it is about; why it gave nothing, where it did not.
        title: String,
        /// Whether it gave anything.
        produced: bool,
        /// What was found.
        insights: Vec<String>,
        /// Frameworks that there are by now.
        frameworks_evolved: usize,
        /// Data points that there are by now.
        data_points_collected: usize,
    },
    /// `plan.iteration_started`
    Iterates {
        /// Which one, from 1.
        iteration: u32,
        /// Of so many.
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

    /// What an event of this type says.
    pub fn read(kind: &str, payload: &str) -> Option<Self> {
        serde_json::from_str::<Self>(payload).ok().filter(|told| told.kind() == kind)
    }
}

/// How far a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanProgress {
    /// The iteration that was begun last; 0 before the first.
    pub current_iteration: u32,
    /// How many are over.
    pub completed: u32,
    /// What it does.
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
    /// After this was told.
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
