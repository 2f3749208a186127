//! How a debate is planned, and the plans of tasks that agents make.
//!
//! With `cpde` (planned in one place, carried out by many) whoever leads the phase says first who
//! does what, and the others do it without hearing each other. With `dpde` (planned and carried out
//! by many) each plans its own part, hears the parts of others, and what they come to is the plan.
//! `adaptive` is one of the two, chosen at the start, and the other one after a round that came to
//! much less than was expected of it.

use folkmoot_core::{Name, vocabulary};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use serde::{Deserialize, Serialize};

use super::estimate::{AMBIGUOUS, Estimate};
use crate::agent::Share;

#[cfg(test)]
mod tests;

vocabulary! {
    pub enum Style {
        /// One plans, all carry out.
        Cpde = "cpde",
        /// All plan, all carry out.
        Dpde = "dpde",
        /// Whichever of the two fits.
        Adaptive = "adaptive",
    }
}

vocabulary! {
    /// Why a debate is planned the way it is.
    pub enum PlanningReason {
        /// Somebody said so.
        Configured = "configured",
        /// There is much to do, and it is clear what: one plan for all.
        ComplexAndClear = "complex_and_clear",
        /// Nobody knows what is wanted: the more guesses, the better.
        Ambiguous = "ambiguous",
        /// At most three agents.
        SmallTeam = "small_team",
        /// More than eight agents.
        LargeTeam = "large_team",
        /// Nothing speaks against one plan.
        TypeDefaults = "usual",
        /// The last round missed what was expected of it.
        MissedExpectations = "missed_expectations",
    }
}

/// How a debate is planned, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningChoice {
    /// One of the two; never [`Style::Adaptive`].
    pub style: Style,
    pub reason: PlanningReason,
}

/// From here on there is much to do.
const COMPLEX: Share = Share::of(70);
/// Below it is clear what is wanted.
const CLEAR: Share = Share::of(30);

impl PlanningChoice {
    /// What a debate begins with: as configured, or what fits the estimate and the number of
    /// agents.
    pub fn at_the_start(configured: Style, estimate: &Estimate, agents: usize) -> Self {
        let Estimate { complexity, ambiguity, .. } = *estimate;
        let (style, reason) = match configured {
            Style::Cpde | Style::Dpde => (configured, PlanningReason::Configured),
            Style::Adaptive if complexity > COMPLEX && ambiguity < CLEAR => {
                (Style::Cpde, PlanningReason::ComplexAndClear)
            }
            Style::Adaptive if ambiguity > AMBIGUOUS => (Style::Dpde, PlanningReason::Ambiguous),
            Style::Adaptive if agents <= 3 => (Style::Cpde, PlanningReason::SmallTeam),
            Style::Adaptive if agents > 8 => (Style::Dpde, PlanningReason::LargeTeam),
            Style::Adaptive => (Style::Cpde, PlanningReason::TypeDefaults),
        };
        Self { style, reason }
    }

    /// What the next round is planned with. Only what was configured as adaptive changes, and only
    /// where the round missed what was expected of it
    /// ([`PhaseExpectations::missed`](super::cognition::PhaseExpectations::missed)).
    pub fn after_a_round(self, configured: Style, missed: bool) -> Self {
        let style = match (configured, self.style) {
            (Style::Adaptive, Style::Cpde) if missed => Style::Dpde,
            (Style::Adaptive, Style::Dpde | Style::Adaptive) if missed => Style::Cpde,
            (Style::Cpde | Style::Dpde | Style::Adaptive, _) => return self,
        };
        Self { style, reason: PlanningReason::MissedExpectations }
    }
}

/// The most tasks of one plan.
pub const TASKS_MAX: usize = 200;

/// One task of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedTask {
    /// Unique in its plan.
    pub id: Name,
    /// What is to be done.
    pub title: String,
    /// The higher, the sooner.
    #[serde(default)]
    pub priority: u8,
    /// What must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
    /// Who does it; anybody where nobody is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
}

/// Tasks that can all be done, in an order in which they can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<PlannedTask>", into = "Vec<PlannedTask>")]
pub struct TaskPlan(Vec<PlannedTask>);

/// Why tasks are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// More than anybody looks through.
    #[error("a plan of {given} tasks is too long; at most {TASKS_MAX} are allowed, so put some together")]
    TooMany {
        /// How many there are.
        given: usize,
    },
    /// Two tasks of one id.
    #[error("two tasks have the id {id}; give each its own")]
    DuplicateId {
        /// Whose it is.
        id: Name,
    },
    /// A task waits for one that is not there.
    #[error("task {id} depends on {dependency}, which is no task of the plan; add it, or leave the dependency out")]
    UnknownDependency {
        /// Which waits.
        id: Name,
        dependency: Name,
    },
    /// Tasks wait for each other.
    #[error("these tasks wait for each other: {}; take one of the dependencies out", circle(.tasks))]
    Cycle {
        /// Each depends on the next, and the last on the first.
        tasks: Vec<Name>,
    },
}

fn circle(tasks: &[Name]) -> String {
    let around = tasks.iter().chain(tasks.first());
    around.map(Name::as_str).collect::<Vec<_>>().join(" -> ")
}

impl TaskPlan {
    /// Puts tasks in order: of all that can be done next the one of the highest priority, of equals
    /// the first by id. However they are given, the order is the same. What cannot all be done is
    /// refused; no task is ever left out.
    pub fn of(tasks: Vec<PlannedTask>) -> Result<Self, BadPlan> {
        if tasks.len() > TASKS_MAX {
            return Err(BadPlan::TooMany { given: tasks.len() });
        }
        let mut left: BTreeMap<Name, PlannedTask> = BTreeMap::new();
        for mut task in tasks {
            // To wait for the same thing twice is to wait for it.
            task.depends_on = task.depends_on.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
            if let Some(task) = left.insert(task.id.clone(), task) {
                return Err(BadPlan::DuplicateId { id: task.id });
            }
        }
        for task in left.values() {
            if let Some(dependency) = task.depends_on.iter().find(|id| !left.contains_key(*id)) {
                return Err(BadPlan::UnknownDependency { id: task.id.clone(), dependency: dependency.clone() });
            }
        }
        let mut waits: BTreeMap<Name, usize> =
            left.values().map(|task| (task.id.clone(), task.depends_on.len())).collect();
        let mut waited_for: BTreeMap<Name, Vec<Name>> = BTreeMap::new();
        for task in left.values() {
            for dependency in &task.depends_on {
                waited_for.entry(dependency.clone()).or_default().push(task.id.clone());
            }
        }
        let urgency = |task: &PlannedTask| (Reverse(task.priority), task.id.clone());
        let mut next: BTreeSet<(Reverse<u8>, Name)> =
            left.values().filter(|task| task.depends_on.is_empty()).map(urgency).collect();
        let mut ordered = Vec::with_capacity(left.len());
        while let Some((_, id)) = next.pop_first() {
            ordered.extend(left.remove(&id));
            for waiting in waited_for.remove(&id).unwrap_or_default() {
                let Some(count) = waits.get_mut(&waiting) else { continue };
                *count -= 1;
                if *count == 0 {
                    next.extend(left.get(&waiting).map(urgency));
                }
            }
        }
        if !left.is_empty() {
            return Err(BadPlan::Cycle { tasks: cycle(&left) });
        }
        Ok(Self(ordered))
    }

    /// All tasks, in the order in which they can be done.
    pub fn tasks(&self) -> &[PlannedTask] {
        &self.0
    }

    /// What can be done now, the most urgent first: not done yet, and all that it depends on is.
    pub fn ready(&self, done: &BTreeSet<Name>) -> Vec<&PlannedTask> {
        let ready =
            |task: &&PlannedTask| !done.contains(&task.id) && task.depends_on.iter().all(|id| done.contains(id));
        let mut tasks: Vec<&PlannedTask> = self.0.iter().filter(ready).collect();
        tasks.sort_by_key(|task| (Reverse(task.priority), task.id.clone()));
        tasks
    }
}

/// A circle among tasks each of which waits for another of them.
fn cycle(left: &BTreeMap<Name, PlannedTask>) -> Vec<Name> {
    let mut path: Vec<&Name> = Vec::new();
    let mut at = left.keys().next();
    while let Some(id) = at {
        if let Some(start) = path.iter().position(|seen| *seen == id) {
            return path[start..].iter().map(|id| (*id).clone()).collect();
        }
        path.push(id);
        at = left.get(id).and_then(|task| task.depends_on.iter().find(|id| left.contains_key(*id)));
    }
    path.into_iter().cloned().collect()
}

impl TryFrom<Vec<PlannedTask>> for TaskPlan {
    type Error = BadPlan;
    fn try_from(tasks: Vec<PlannedTask>) -> Result<Self, BadPlan> {
        Self::of(tasks)
    }
}

impl From<TaskPlan> for Vec<PlannedTask> {
    fn from(plan: TaskPlan) -> Vec<PlannedTask> {
        plan.0
    }
}
