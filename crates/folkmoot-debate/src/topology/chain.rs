//! The chain: each agent is linked with the next, and the last with the first.

use super::{WHOLE, concern};
use crate::agent::{
    Agent,
    AgentRole::{self, *},
    DebatePhase,
    choose::rank,
};
use folkmoot_core::Name;

/// All agents, sorted by role, and within a role the better ones first. The order of the team does
/// not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChainTopology(Vec<Name>);

/// The weight of the link from the last agent back to the first.
const BACK: u16 = 50;

impl ChainTopology {
    pub(super) fn new(agents: &[Agent]) -> Self {
        let mut agents: Vec<&Agent> = agents.iter().collect();
        agents.sort_by_key(|agent| (place(agent.role), rank(agent)));
        Self(agents.into_iter().map(|agent| agent.id.clone()).collect())
    }

    /// The first agent whose role the phase concerns, or the first of all.
    pub(super) fn leader(&self, agents: &[Agent], phase: DebatePhase) -> &Name {
        let role = |id: &Name| agents.iter().find(|agent| agent.id == *id).map(|agent| agent.role);
        let concerned = |id: &&Name| role(id).is_some_and(|role| concern::roles(phase).contains(&role));
        self.0.iter().find(concerned).unwrap_or(&self.0[0])
    }

    pub(super) fn groups(&self) -> Vec<Vec<Name>> {
        self.0.iter().map(|id| vec![id.clone()]).collect()
    }

    /// The next agent; `None` if there is only one.
    pub(super) fn next(&self, id: &Name) -> Option<&Name> {
        let at = self.0.iter().position(|other| other == id)?;
        Some(&self.0[(at + 1) % self.0.len()]).filter(|next| *next != id)
    }

    pub(super) fn weight(&self, from: &Name, to: &Name) -> Option<u16> {
        let back = self.0.last() == Some(from);
        (self.next(from)? == to).then_some(if back { BACK } else { WHOLE })
    }
}

/// The place of a role in the chain. Roles that propose come before roles that attack, and these
/// before roles that repair. The moderator, who sums up, is last in the list. Roles that are not in
/// the list follow after it.
fn place(role: AgentRole) -> usize {
    const ORDER: [AgentRole; 12] = [
        Proposer, Architect, Critic, RedTeam, Reviewer, BlueTeam, Optimizer, TestAgent, Security, Validator, Teacher,
        Moderator,
    ];
    ORDER.iter().position(|known| *known == role).unwrap_or(ORDER.len() + role as usize)
}
