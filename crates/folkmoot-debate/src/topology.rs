//! Topologies: who hears whom, who leads a phase, and who speaks at the same time.
//!
//! ```text
//!  graph_mesh          star               chain                 tree
//!   a ── b          a   b   c        a ─▶ b ─▶ c ─▶ d           root
//!   │ ╲╱ │           ╲  │  ╱         ▲              │          ╱    ╲
//!   │ ╱╲ │          moderator        └──────────────┘       lead    lead
//!   c ── d              │                                   ╱  ╲      ╲
//!                       d                                  …    …      …
//! ```
//!
//! Every message that is routed arrives: [`Network::route`] names every hop, and the last hop is
//! the receiver. Leaders, links, and places in the chain or tree depend on the agents and never on
//! the order in which they are given: the better agent comes first, as
//! [`choose`](crate::agent::choose()) ranks them, and finally the id decides. Only lists of agents
//! that are otherwise equal are in the order of the team.

use folkmoot_core::{Name, vocabulary};
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, DebatePhase};

mod chain;
mod concern;
mod mesh;
mod select;
mod star;
#[cfg(test)]
mod tests;
mod tree;

pub use select::{SelectReason, TopologyChoice, Traits};
pub use tree::{Responsibility, TreeNode};

use chain::ChainTopology;
use tree::Tree;

vocabulary! {
    /// How agents are linked.
    pub enum Topology {
        /// Everybody is linked with everybody.
        GraphMesh = "graph_mesh",
        /// Everybody is linked with one moderator, who passes on what the others say.
        Star = "star",
        /// Each agent is linked with the next, and the last with the first.
        Chain = "chain",
        /// A root, agents below it that each lead a concern, and agents that work for these leads.
        Tree = "tree",
    }
}

/// Agents and their links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    topology: Topology,
    /// In the order of the team; at least one.
    agents: Vec<Agent>,
    /// At least one.
    max_parallel: usize,
    shape: NetworkShape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum NetworkShape {
    Mesh,
    Star { moderator: Name },
    Chain(ChainTopology),
    Tree(Tree),
}

/// A link from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLink {
    pub from: Name,
    pub to: Name,
    /// How useful the link is expected to be, in hundredths. In a mesh, links weigh more between
    /// good agents and between agents that differ in role or domain. In a chain, the link from the
    /// last agent back to the first weighs half.
    pub weight: u16,
}

/// Why a message cannot be routed, or an agent cannot be removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// Nobody has that id.
    #[error("{agent} is not, or no longer, an agent of this debate; look at its agents for who is")]
    AgentNotFound {
        /// The id that was named.
        agent: Name,
    },
    /// The two are not linked.
    #[error("there is no channel from {from} to {to}; ask for the route, which names who passes it on")]
    ChannelNotFound {
        /// The sender.
        from: Name,
        to: Name,
    },
    /// The sender and the receiver are the same.
    #[error("{agent} cannot send a message to itself; name another agent")]
    InvalidMessage { agent: Name },
    /// The links do not lead to the receiver.
    #[error("no way leads from {from} to {to}; this is a defect of the topology, please report it")]
    RoutingFailed {
        /// The sender.
        from: Name,
        to: Name,
    },
    /// The last agent of a debate cannot be removed.
    #[error("{agent} is the last agent of this debate and cannot be taken out; end the debate instead")]
    TopologyClosed { agent: Name },
}

impl RoutingError {
    /// The code of the error.
    pub const fn code(&self) -> &'static str {
        match self {
            RoutingError::AgentNotFound { .. } => "AGENT_NOT_FOUND",
            RoutingError::ChannelNotFound { .. } => "CHANNEL_NOT_FOUND",
            RoutingError::InvalidMessage { .. } => "INVALID_MESSAGE",
            RoutingError::RoutingFailed { .. } => "ROUTING_FAILED",
            RoutingError::TopologyClosed { .. } => "TOPOLOGY_CLOSED",
        }
    }
}

impl Network {
    /// Links `agents`, who come from a [`Team`](crate::Team): at least one, with unique ids. At
    /// most `max_parallel` of them speak at the same time; 0 counts as 1.
    ///
    /// # Panics
    ///
    /// If `agents` is empty.
    pub fn new(topology: Topology, agents: &[Agent], max_parallel: usize) -> Self {
        assert!(!agents.is_empty(), "a team has at least one agent");
        let shape = match topology {
            Topology::GraphMesh => NetworkShape::Mesh,
            Topology::Star => NetworkShape::Star { moderator: star::moderator(agents).clone() },
            Topology::Chain => NetworkShape::Chain(ChainTopology::new(agents)),
            Topology::Tree => NetworkShape::Tree(Tree::new(agents)),
        };
        Self { topology, agents: agents.to_vec(), max_parallel: max_parallel.max(1), shape }
    }

    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// In the order of the team.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The leader of a phase. In a mesh, it is the best agent with a role that the phase concerns;
    /// in a star, the moderator; in a chain, the first agent with such a role. In a tree, it is the
    /// lead of security (critique, adversarial) or of performance (optimization), and the root in
    /// other phases or if there is no such lead.
    pub fn leader(&self, phase: DebatePhase) -> &Name {
        match &self.shape {
            NetworkShape::Mesh => mesh::leader(&self.agents, phase),
            NetworkShape::Star { moderator } => moderator,
            NetworkShape::Chain(chain) => chain.leader(&self.agents, phase),
            NetworkShape::Tree(tree) => tree.leader(&self.agents, phase),
        }
    }

    /// Who speaks when. Groups speak one after another, and the members of a group speak at the
    /// same time. Each agent is in exactly one group, and no group has more than `max_parallel`
    /// members.
    pub fn groups(&self, phase: DebatePhase) -> Vec<Vec<Name>> {
        let groups = match &self.shape {
            NetworkShape::Mesh => mesh::groups(&self.agents, phase),
            NetworkShape::Star { moderator } => star::groups(&self.agents, moderator),
            NetworkShape::Chain(chain) => chain.groups(),
            NetworkShape::Tree(tree) => tree.groups(phase),
        };
        groups.iter().flat_map(|group| group.chunks(self.max_parallel)).map(<[Name]>::to_vec).collect()
    }

    /// [`Network::groups`], restricted to the `speakers` that [`choose`](crate::agent::choose())
    /// chose.
    pub fn turns(&self, phase: DebatePhase, speakers: &[&Agent]) -> Vec<Vec<Name>> {
        let speaks = |id: &Name| speakers.iter().any(|agent| agent.id == *id);
        let groups = self.groups(phase).into_iter().map(|group| group.into_iter().filter(speaks).collect::<Vec<_>>());
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// Every hop of a message, up to and including its receiver.
    pub fn route(&self, from: &Name, to: &Name) -> Result<Vec<Name>, RoutingError> {
        self.must_be_there(from)?;
        self.must_be_there(to)?;
        if from == to {
            return Err(RoutingError::InvalidMessage { agent: from.clone() });
        }
        let mut hops: Vec<Name> = Vec::new();
        // No route visits an agent twice, so none is longer than the number of agents.
        while hops.last() != Some(to) && hops.len() < self.agents.len() {
            let at = hops.last().unwrap_or(from);
            let next = match &self.shape {
                NetworkShape::Mesh => Some(to),
                NetworkShape::Star { moderator } => Some(star::next(moderator, at, to)),
                NetworkShape::Chain(chain) => chain.next(at),
                NetworkShape::Tree(tree) => tree.next(at, to),
            };
            let Some(next) = next.cloned() else { break };
            hops.push(next);
        }
        if hops.last() != Some(to) {
            return Err(RoutingError::RoutingFailed { from: from.clone(), to: to.clone() });
        }
        Ok(hops)
    }

    /// The agents whose words reach `agent`, in the order of the team. In a mesh and in a star,
    /// these are all others; in a chain, the one before it, where the last is before the first; in
    /// a tree, its parent, its children and its siblings. Nobody, if `agent` is not in the network.
    pub fn hears(&self, agent: &Name) -> Vec<Name> {
        if self.agent(agent).is_none() {
            return Vec::new();
        }
        let reaches = |other: &Name| match &self.shape {
            NetworkShape::Mesh | NetworkShape::Star { .. } => true,
            NetworkShape::Chain(chain) => chain.next(other) == Some(agent),
            NetworkShape::Tree(tree) => tree.is_near(agent, other),
        };
        self.ids().filter(|other| *other != agent && reaches(other)).cloned().collect()
    }

    /// All links.
    pub fn channels(&self) -> Vec<AgentLink> {
        let weight = |from: &Agent, to: &Agent| match &self.shape {
            NetworkShape::Mesh => Some(mesh::weight(from, to)),
            NetworkShape::Star { moderator } => (from.id == *moderator || to.id == *moderator).then_some(WHOLE),
            NetworkShape::Chain(chain) => chain.weight(&from.id, &to.id),
            NetworkShape::Tree(tree) => tree.is_link(&from.id, &to.id).then_some(WHOLE),
        };
        let pairs = self.agents.iter().flat_map(|from| self.agents.iter().map(move |to| (from, to)));
        let channel = |(from, to): (&Agent, &Agent)| {
            Some(AgentLink { from: from.id.clone(), to: to.id.clone(), weight: weight(from, to)? })
        };
        pairs.filter(|(from, to)| from.id != to.id).filter_map(channel).collect()
    }

    /// The link between two agents.
    pub fn channel(&self, from: &Name, to: &Name) -> Result<AgentLink, RoutingError> {
        self.must_be_there(from)?;
        self.must_be_there(to)?;
        let found = self.channels().into_iter().find(|channel| channel.from == *from && channel.to == *to);
        found.ok_or_else(|| RoutingError::ChannelNotFound { from: from.clone(), to: to.clone() })
    }

    /// The most messages that a phase takes, if each speaker says one thing and relayed messages
    /// are passed on together. With `n` agents of whom `s` speak: `s·(n-1)` in a mesh, `s + n-1` in
    /// a star, `s` in a chain, `2·(n-1)` in a tree.
    pub fn messages(&self, phase: DebatePhase) -> usize {
        let others = self.agents.len() - 1;
        let speakers = self.agents.len().min(phase.rule().max_parallel);
        match &self.shape {
            NetworkShape::Mesh => speakers * others,
            NetworkShape::Star { .. } => speakers.min(others) + others,
            NetworkShape::Chain(_) => {
                if others == 0 {
                    0
                } else {
                    speakers
                }
            }
            NetworkShape::Tree(_) => 2 * others,
        }
    }

    /// The network without an agent that failed. A star gets another moderator, and a chain closes
    /// the gap. In a tree, the agents that worked for it are distributed among its siblings, or
    /// work for its parent if it has no siblings; the best child of a failed root becomes the root.
    pub fn without(&self, agent: &Name) -> Result<Network, RoutingError> {
        self.must_be_there(agent)?;
        let left: Vec<Agent> = self.agents.iter().filter(|other| other.id != *agent).cloned().collect();
        if left.is_empty() {
            return Err(RoutingError::TopologyClosed { agent: agent.clone() });
        }
        match &self.shape {
            // The tree is repaired rather than rebuilt, so that agents that are not concerned keep
            // their places.
            NetworkShape::Tree(tree) => {
                let shape = NetworkShape::Tree(tree.without(agent, &left));
                Ok(Self { topology: self.topology, agents: left, max_parallel: self.max_parallel, shape })
            }
            NetworkShape::Mesh | NetworkShape::Star { .. } | NetworkShape::Chain(_) => {
                Ok(Self::new(self.topology, &left, self.max_parallel))
            }
        }
    }

    /// The nodes of the tree, level by level from the root; empty for other topologies.
    pub fn tree(&self) -> Vec<TreeNode> {
        match &self.shape {
            NetworkShape::Tree(tree) => tree.nodes(),
            NetworkShape::Mesh | NetworkShape::Star { .. } | NetworkShape::Chain(_) => Vec::new(),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &Name> {
        self.agents.iter().map(|agent| &agent.id)
    }

    fn agent(&self, id: &Name) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.id == *id)
    }

    fn must_be_there(&self, id: &Name) -> Result<(), RoutingError> {
        self.agent(id).map(|_| ()).ok_or_else(|| RoutingError::AgentNotFound { agent: id.clone() })
    }
}

/// The weight of a link about which nothing else is known.
const WHOLE: u16 = 100;
