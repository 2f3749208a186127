//! A run: one durable execution of a workflow, or of somebody else's agent.
//!
//! ```text
//!   start ─▶ Pending ──claim──▶ Running ──park──▶ Parked ──wake, claim──▶ Running
//!               ▲                 │ ▲                │
//!               │                 │ └─claim (its node died)
//!               └─resume─ Stopped ◀─stop─┘           │
//!   every state but Ended ──end · cancel──▶ Ended: completed · failed · cancelled
//!   start ─▶ Outside (somebody else executes it) ──end · cancel──▶ Ended
//! ```
//!
//! An ended run never changes, except that an admin may correct a text of one of its records. Gates
//! and questions that are still open when a run ends are closed with it, as far as the one who ends
//! it may close them.
//!
//! Each claim has a higher epoch than the one before, and a worker that writes for a run must name
//! the current epoch. So a node that lost a run cannot write for it. Nothing here lets a run pass a
//! gate: a parked run is claimed only after something that it waits for has changed.

mod action;
mod cancel;
mod claim;
mod commit;
mod correct;
mod end;
mod event;
mod gates;
mod limits;
mod open_work;
mod park;
mod record;
mod resume;
mod start;
mod stop;
mod summary;
#[cfg(test)]
mod tests;
mod timer;
mod workflow;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use action::{Action, Loaded, Needs};
pub use end::{Conclusion, Ending, RunOutcome};
pub use event::RunEvent;
pub use gates::must_not_be_stopped_at;
pub use limits::RunLimits;
pub use park::ParkRequest;
pub use start::{NewRun, RunStart};
pub(crate) use start::{as_agent, commit_start, own_session};
pub use summary::{RunSummary, SummaryStatus};
pub use workflow::{BadWorkflowName, WorkflowName};

use crate::{Deadline, Name, Principal, Refusal, Role, RunId, SessionId, Timestamp};

/// A run as stored in its row, which is exactly the fold of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// What never changes.
    pub start: RunStart,
    pub state: RunState,
    /// Counts its claims. A worker that writes for it must name this number.
    pub epoch: u64,
    /// How many entries its journal has.
    pub steps: u32,
    /// How many of them were begun and have not ended.
    pub begun: u32,
    /// How many bytes the results in its journal and the records that it has kept have together.
    pub journal_bytes: u64,
    /// How long it was worked on, without the current claim. Time while it is parked does not
    /// count.
    pub active_micros: u64,
    /// When somebody last resumed it. What waited for a provider at that time is tried at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// The time of its last event.
    pub moved_at: Timestamp,
    /// How many events its stream has.
    pub seq: u64,
}

/// Where a run is in its life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// No worker has taken it yet.
    Pending,
    /// Somebody else's agent executes it; it has no worker.
    Outside,
    /// A worker executes it.
    Running {
        /// The worker's node.
        node: Name,
        /// When that node claimed it.
        since: Timestamp,
    },
    /// Every branch waits for something, and nobody works on it.
    Parked(Parked),
    /// It cannot go on until somebody has looked at it.
    Stopped {
        /// The kind of problem, as a code.
        code: String,
        /// What happened, and what to do.
        message: String,
    },
    /// It is over.
    Ended(Ending),
}

/// How a run waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// How often it was woken before it was parked. Once it is woken again, a worker may claim it.
    pub wakes: u64,
    /// When the first of its sleeps ends.
    pub due: Deadline,
    /// The agents that wait for clearance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Name>,
    /// The providers that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outages: Vec<Outage>,
}

/// A provider that a run waits for, because it is unavailable, limits our requests or demands
/// payment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Outage {
    /// Its name in the configuration.
    pub provider: String,
    /// Its last error, in words.
    pub reason: String,
    /// When it is tried again, unless somebody resumes the run before.
    pub retry_at: Timestamp,
}

vocabulary! {
    /// What a run executes. Tasks come with their workflow.
    pub enum RunKind {
        /// Somebody else's agent.
        External = "external",
        /// A workflow that a program registered.
        Custom = "custom",
        /// A plan in iterations.
        Plan = "plan",
        /// A debate of several agents.
        Debate = "debate",
    }
}

vocabulary! {
    /// Where a run is in its life, in one word.
    pub enum RunStatus {
        /// No worker has taken it yet.
        Pending = "pending",
        /// It is worked on.
        Running = "running",
        /// It waits, and nobody works on it.
        Parked = "parked",
        /// Somebody must look at it.
        Stopped = "stopped",
        /// It reached its end.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
    }
}

impl RunKind {
    /// The kind of a run that was started with this workflow, or without one.
    pub fn of(workflow: Option<&WorkflowName>) -> Self {
        match workflow.map(WorkflowName::name) {
            None => RunKind::External,
            Some("plan") => RunKind::Plan,
            Some("debate") => RunKind::Debate,
            Some(_) => RunKind::Custom,
        }
    }

    /// Refuses a kind that does not fit the workflow.
    pub fn must_fit(self, workflow: Option<&WorkflowName>) -> Result<(), Refusal> {
        match (RunKind::of(workflow), workflow) {
            (kind, _) if kind == self => Ok(()),
            (_, Some(workflow)) => {
                Err(Refusal::invalid("kind", format!("is {self}, but {workflow} executes the run; leave it out")))
            }
            (_, None) => {
                Err(Refusal::invalid("kind", format!("is {self}, but no workflow was named that executes the run")))
            }
        }
    }
}

impl Run {
    pub fn status(&self) -> RunStatus {
        match &self.state {
            RunState::Pending => RunStatus::Pending,
            RunState::Outside | RunState::Running { .. } => RunStatus::Running,
            RunState::Parked(_) => RunStatus::Parked,
            RunState::Stopped { .. } => RunStatus::Stopped,
            RunState::Ended(ending) => ending.status(),
        }
    }

    /// Whether Folkmoot executes it and it is not over.
    pub fn is_under_way(&self) -> bool {
        self.start.workflow.is_some() && self.ending().is_none()
    }

    /// How it ended, once it has ended.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.state {
            RunState::Ended(ending) => Some(ending),
            RunState::Pending
            | RunState::Outside
            | RunState::Running { .. }
            | RunState::Parked(_)
            | RunState::Stopped { .. } => None,
        }
    }

    /// The providers that it waits for.
    pub fn outages(&self) -> &[Outage] {
        match &self.state {
            RunState::Parked(parked) => &parked.outages,
            RunState::Pending
            | RunState::Outside
            | RunState::Running { .. }
            | RunState::Stopped { .. }
            | RunState::Ended(_) => &[],
        }
    }

    /// How long it was worked on until `now`, including the current claim.
    pub fn active(&self, now: Timestamp) -> Duration {
        let current = match &self.state {
            RunState::Running { since, .. } => micros_between(*since, now),
            RunState::Pending
            | RunState::Outside
            | RunState::Parked(_)
            | RunState::Stopped { .. }
            | RunState::Ended(_) => 0,
        };
        Duration::from_micros(self.active_micros.saturating_add(current))
    }

    /// The principal as which it opens gates and asks questions. It has the name of the workflow,
    /// or of the initiator if there is no workflow, and the initiator's role.
    pub fn speaker(&self) -> Principal {
        let name = match &self.start.workflow {
            Some(workflow) => format!("{SPEAKER}{workflow}").parse().expect("a workflow's name fits into a name"),
            None => self.start.initiator.clone(),
        };
        Principal::new(name, self.start.role)
    }

    /// The agent that works in it if none is named. Each run that Folkmoot executes is an agent of
    /// its own, so that a question of one run does not hold another.
    pub fn agent(&self) -> Name {
        match &self.start.workflow {
            Some(_) => as_agent(&self.start.id),
            None => self.start.initiator.clone(),
        }
    }

    /// The name under which one of its agents needs clearance. If Folkmoot executes the run, it is
    /// `planner@RUN` for the agent `planner`. So a question that somebody else asks as `planner`
    /// does not hold this run. If that is too long for a name, it is the run's own agent.
    pub fn agent_named(&self, agent: &Name) -> Name {
        match &self.start.workflow {
            Some(_) if *agent != self.agent() => {
                format!("{agent}@{}", self.start.id).parse().unwrap_or_else(|_| self.agent())
            }
            Some(_) | None => agent.clone(),
        }
    }

    /// Whether this principal may see it. Agents see only their own.
    pub fn may_be_seen_by(&self, principal: &Principal) -> bool {
        principal.role.sees_everything() || self.start.initiator == principal.name
    }

    /// Refuses a worker whose claim on the run is not the current one.
    pub(crate) fn must_be_held(&self, epoch: u64) -> Result<(), Refusal> {
        match &self.state {
            RunState::Ended(ending) => Err(self.is_over(ending)),
            RunState::Running { .. } if self.epoch == epoch => Ok(()),
            RunState::Pending
            | RunState::Outside
            | RunState::Running { .. }
            | RunState::Parked(_)
            | RunState::Stopped { .. } => {
                Err(Refusal::LeaseLost { run: self.start.id.clone(), epoch, current: self.epoch })
            }
        }
    }

    /// Refuses if the run is over.
    pub(crate) fn must_go_on(&self) -> Result<(), Refusal> {
        self.ending().map_or(Ok(()), |ending| Err(self.is_over(ending)))
    }

    fn is_over(&self, ending: &Ending) -> Refusal {
        Refusal::RunEnded { run: self.start.id.clone(), status: ending.status(), at: ending.at }
    }

    /// Refuses to attach a gate or question to a run that is over or belongs to another session.
    /// Also refuses an agent whose run it is not.
    pub(crate) fn must_take(&self, by: &Principal, session: Option<&SessionId>) -> Result<(), Refusal> {
        let RunStart { id, initiator, session_id, .. } = &self.start;
        if by.role == Role::Agent && *initiator != by.name && self.speaker().name != by.name {
            return Err(Refusal::NotYourRun { run: id.clone() });
        }
        self.must_go_on()?;
        match session {
            Some(session) if session != session_id => {
                let problem = format!("is {session}, but run {id} belongs to session {session_id}");
                Err(Refusal::invalid("session_id", problem))
            }
            _ => Ok(()),
        }
    }

    /// Refuses viewers, and agents that did not start the run.
    pub(crate) fn must_be_theirs(&self, by: &Principal, verb: &'static str) -> Result<(), Refusal> {
        match by.role {
            Role::Viewer => Err(Refusal::RoleMayNot { role: by.role, verb }),
            Role::Agent if self.start.initiator != by.name => Err(Refusal::UnknownRun { run: self.start.id.clone() }),
            Role::Agent | Role::Reviewer | Role::Admin => Ok(()),
        }
    }
}

/// Whether this name belongs to an agent of that run and of no other. See [`Run::agent_named`].
pub fn is_own_agent(agent: &Name, run: &RunId) -> bool {
    agent.as_str().strip_suffix(run.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('@'))
}

/// The prefix of every workflow's name as a principal.
pub(crate) const SPEAKER: &str = "workflow:";

pub(crate) fn micros_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_micros().saturating_sub(from.as_micros())).unwrap_or(0)
}

/// The stream of a run's events.
pub fn stream(run: &RunId) -> String {
    format!("run:{run}")
}

/// The run to which a stream belongs, if it is a run's stream.
pub fn of_stream(stream: &str) -> Option<RunId> {
    stream.strip_prefix("run:")?.parse().ok()
}
