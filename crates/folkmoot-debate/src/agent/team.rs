//! Teams: which agents debate.

use std::{cmp::Reverse, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Agent, AgentRole, AgentRole::*, DebatePhase, Domain, ModelName, affinity::weight};
use folkmoot_core::{Name, Refusal};

#[cfg(test)]
mod tests;

/// The size of the smallest team with somebody for each part of a debate.
pub const MINIMUM: usize = 5;
/// The default size: every role that a phase requires, and the two other roles that have most to
/// say about the domain.
pub const STANDARD: usize = 12;
/// The size at which every role is there once.
pub const MAXIMUM: usize = 20;
/// The size of the largest team. Beyond [`MAXIMUM`] the most needed roles are there twice.
pub const AGENTS_MAX: usize = 25;

/// The longest name of a provider or a model, in bytes.
const MODEL_BYTES_MAX: usize = 200;

/// At least one and at most [`AGENTS_MAX`] agents, with unique ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Agent>", into = "Vec<Agent>")]
pub struct Team(Vec<Agent>);

/// Why a list of agents is not a team.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// There are too few or too many agents.
    #[error("a team of {given} agents is not possible: ask for 1 to {AGENTS_MAX} (the standard is {STANDARD})")]
    Size {
        /// How many were asked for.
        given: usize,
    },
    /// Two agents have the same id.
    #[error("two agents have the id {id}; give each its own")]
    DuplicateId {
        /// The id that both have.
        id: Name,
    },
    /// The name of a provider or model is empty, too long or not one line.
    #[error(
        "agent {id}: its {field} is empty, longer than {MODEL_BYTES_MAX} bytes or not one line; name one, or leave it out"
    )]
    Model {
        id: Name,
        /// `provider` or `model`.
        field: &'static str,
    },
}

impl Team {
    /// Builds a team of `size` agents for a domain. The most needed roles come first ([`by_need`]).
    /// The agents get `models` in turn, so that agents who answer each other do not all use one
    /// model. If `models` is empty, all agents speak with the configured one.
    pub fn build(size: usize, domain: Domain, models: &[ModelName]) -> Result<Self, TeamError> {
        must_be_possible(size)?;
        let roles = by_need(domain);
        let seats = (0..size).map(|seat| (seat % roles.len(), seat / roles.len()));
        let agents = seats.map(|(need, repeat)| {
            let role = roles[need];
            // The second agent of a role gets another model than the first.
            let model = models.get((need + repeat) % models.len().max(1)).cloned();
            Agent { model, ..Agent::new(id(role, repeat + 1), role, domain) }
        });
        Self::of(agents.collect())
    }

    /// A team of these agents, in this order.
    pub fn of(agents: Vec<Agent>) -> Result<Self, TeamError> {
        must_be_possible(agents.len())?;
        let mut ids = BTreeSet::new();
        for agent in &agents {
            if !ids.insert(&agent.id) {
                return Err(TeamError::DuplicateId { id: agent.id.clone() });
            }
            if let Some(model) = &agent.model {
                must_be_a_name(&agent.id, "provider", &model.provider)?;
                must_be_a_name(&agent.id, "model", model.model.as_deref().unwrap_or(&model.provider))?;
            }
        }
        Ok(Self(agents))
    }

    /// The agents, in the order in which the team was given or built.
    pub fn agents(&self) -> &[Agent] {
        &self.0
    }

    pub fn agent(&self, id: &Name) -> Option<&Agent> {
        self.0.iter().find(|agent| agent.id == *id)
    }
}

/// All roles, the most needed first: the five of the smallest team, which begin with one that
/// answers, one that attacks and one that decides; then the roles that a phase requires; then the
/// rest. The latter two groups are sorted by how much the role has to say about the domain, then by
/// the order of [`AgentRole`].
pub fn by_need(domain: Domain) -> Vec<AgentRole> {
    let mut roles = AgentRole::ALL.to_vec();
    roles.sort_by_key(|role| match CORE.iter().position(|core| core == role) {
        Some(place) => (0, place, Reverse(weight(domain, *role)), *role),
        None if is_required(*role) => (1, 0, Reverse(weight(domain, *role)), *role),
        None => (2, 0, Reverse(weight(domain, *role)), *role),
    });
    roles
}

const CORE: [AgentRole; MINIMUM] = [Proposer, Critic, Moderator, Reviewer, Optimizer];

fn is_required(role: AgentRole) -> bool {
    DebatePhase::ALL.iter().any(|phase| phase.rule().required.contains(&role))
}

fn id(role: AgentRole, number: usize) -> Name {
    let id = format!("{}-{number}", role.word().replace('_', "-"));
    id.parse().expect("a word of the vocabulary and a number are a name")
}

fn must_be_possible(size: usize) -> Result<(), TeamError> {
    if !(1..=AGENTS_MAX).contains(&size) {
        return Err(TeamError::Size { given: size });
    }
    Ok(())
}

fn must_be_a_name(id: &Name, field: &'static str, text: &str) -> Result<(), TeamError> {
    if text.trim().is_empty() || text.len() > MODEL_BYTES_MAX || text.contains(char::is_control) {
        return Err(TeamError::Model { id: id.clone(), field });
    }
    Ok(())
}

impl TryFrom<Vec<Agent>> for Team {
    type Error = TeamError;
    fn try_from(agents: Vec<Agent>) -> Result<Self, TeamError> {
        Self::of(agents)
    }
}

impl From<Team> for Vec<Agent> {
    fn from(team: Team) -> Vec<Agent> {
        team.0
    }
}

impl From<TeamError> for Refusal {
    fn from(error: TeamError) -> Refusal {
        Refusal::invalid("agents", format!("are refused: {error}"))
    }
}
