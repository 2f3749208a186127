//! How a debate plans its work, and the plans of tasks that agents make.
//!
//! With `cpde` (centralised planning, decentralised execution) the leader of the phase first says
//! who does what, and the others do it without hearing each other. With `dpde` (decentralised
//! planning and execution) each agent plans its own part and hears the parts of others; together
//! they are the plan. `adaptive` starts with one of the two, and switches to the other after a
//! round that achieved much less than was expected of it.

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
        /// One agent plans, all carry the plan out.
        Cpde = "cpde",
        /// All agents plan and carry the plans out.
        Dpde = "dpde",
        /// Whichever of the two fits.
        Adaptive = "adaptive",
    }
}

vocabulary! {
    /// Why a debate is planned the way it is.
    pub enum PlanningReason {
        /// The configuration says so.
        Configured = "configured",
        /// There is much to do, and it is clear what, so one plan serves all.
        ComplexAndClear = "complex_and_clear",
        /// It is unclear what is wanted, so several plans guess better than one.
        Ambiguous = "ambiguous",
        /// At most three agents.
        SmallTeam = "small_team",
        /// More than eight agents.
        LargeTeam = "large_team",
        /// No other reason applies, so there is one plan.
        Usual = "usual",
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

/// Above this complexity there is much to do.
const COMPLEX: Share = Share::of(70);
/// Below this ambiguity it is clear what is wanted.
const CLEAR: Share = Share::of(30);

impl PlanningChoice {
    /// What a debate begins with: the configured style, or the one that fits the estimate and the
    /// number of agents.
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
            Style::Adaptive => (Style::Cpde, PlanningReason::Usual),
        };
        Self { style, reason }
    }

    /// The style of the next round. It changes only if the configuration says adaptive and the
    /// round missed what was expected of it
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
    pub title: String,
    /// Tasks with a higher priority come sooner.
    #[serde(default)]
    pub priority: u8,
    /// Tasks that must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Name>,
    /// Who does it; `None` means anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Name>,
}

/// Tasks that can all be done, in an order that respects their dependencies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<PlannedTask>", into = "Vec<PlannedTask>")]
pub struct TaskPlan(Vec<PlannedTask>);

/// Why a list of tasks is not a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPlan {
    /// There are more tasks than anybody reads.
    #[error("a plan of {given} tasks is too long; at most {TASKS_MAX} are allowed, so put some together")]
    TooMany {
        /// How many tasks there are.
        given: usize,
    },
    /// Two tasks have the same id.
    #[error("two tasks have the id {id}; give each its own")]
    DuplicateId {
        /// The id that both have.
        id: Name,
    },
    /// A task depends on one that is not in the plan.
    #[error("task {id} depends on {dependency}, which is no task of the plan; add it, or leave the dependency out")]
    UnknownDependency {
        /// The task with the dependency.
        id: Name,
        dependency: Name,
    },
    /// Tasks depend on each other in a cycle.
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
    /// Puts tasks in order. Of all that can be done next, the one with the highest priority comes
    /// first; ties go to the lower id. The order in which the tasks are given does not matter.
    /// Tasks that cannot all be done are refused; no task is ever left out.
    pub fn of(tasks: Vec<PlannedTask>) -> Result<Self, BadPlan> {
        if tasks.len() > TASKS_MAX {
            return Err(BadPlan::TooMany { given: tasks.len() });
        }
        let mut left: BTreeMap<Name, PlannedTask> = BTreeMap::new();
        for mut task in tasks {
            // A repeated dependency counts once.
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

    /// The tasks that can be done now, the most urgent first: they are not done yet, and everything
    /// they depend on is.
    pub fn ready(&self, done: &BTreeSet<Name>) -> Vec<&PlannedTask> {
        let ready =
            |task: &&PlannedTask| !done.contains(&task.id) && task.depends_on.iter().all(|id| done.contains(id));
        let mut tasks: Vec<&PlannedTask> = self.0.iter().filter(ready).collect();
        tasks.sort_by_key(|task| (Reverse(task.priority), task.id.clone()));
        tasks
    }
}

/// Finds a cycle. Each task in `left` depends on another task in `left`.
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
