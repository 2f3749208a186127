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
//! A message that is routed arrives: [`Network::route`] names every hop, the last of which is whom
//! it is for. Who leads, who stands where in the chain or the tree, and who is linked to whom,
//! depends on the agents and never on the order in which they are given: of equals the better one
//! comes first, as [`choose`](crate::agent::choose()) ranks them, and at last the id decides. Only
//! lists of agents who are otherwise equal come in the order of the team.

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
        /// Everybody with everybody.
        GraphMesh = "graph_mesh",
        /// Everybody with one moderator, who passes on what the others say.
        Star = "star",
        /// Each with the next, and the last with the first.
        Chain = "chain",
        /// A root, those who lead a concern, and those who work for them.
        Tree = "tree",
    }
}

/// Agents and their links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    topology: Topology,
    /// In the order of the team. Never none.
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
    /// Who hears it.
    pub to: Name,
    /// How much is expected of it, in hundredths. In a mesh it is more between good agents, and
    /// between those who differ in role or domain; the way back from the end of a chain counts
    /// half.
    pub weight: u16,
}

/// Why a message has no way, or a network cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// Nobody has that id.
    #[error("{agent} is not, or no longer, an agent of this debate; look at its agents for who is")]
    AgentNotFound {
        /// Who was named.
        agent: Name,
    },
    /// The two are not linked.
    #[error("there is no channel from {from} to {to}; ask for the route, which names who passes it on")]
    ChannelNotFound {
        /// Who would speak.
        from: Name,
        /// Who would hear it.
        to: Name,
    },
    /// It is for whoever sends it.
    #[error("{agent} cannot send a message to itself; name another agent")]
    InvalidMessage { agent: Name },
    /// The links do not lead there.
    #[error("no way leads from {from} to {to}; this is a defect of the topology, please report it")]
    RoutingFailed {
        /// Who would speak.
        from: Name,
        /// Who would hear it.
        to: Name,
    },
    /// Without its last agent there is no debate.
    #[error("{agent} is the last agent of this debate and cannot be taken out; end the debate instead")]
    TopologyClosed { agent: Name },
}

impl RoutingError {
    /// The word for it.
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
    /// Links `agents`, who are a [`Team`](crate::Team)'s: at least one, with ids of their own. At
    /// most `max_parallel` of them speak at the same time, and at least one.
    ///
    /// # Panics
    /// Without any agent.
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

    /// How they are linked.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// Who is in it, in the order of the team.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Who leads a phase. In a mesh the best of those whom the phase concerns; in a star the
    /// moderator; in a chain the first whom it concerns; in a tree the lead of security (critique,
    /// adversarial) or performance (optimization), else the root.
    pub fn leader(&self, phase: DebatePhase) -> &Name {
        match &self.shape {
            NetworkShape::Mesh => mesh::leader(&self.agents, phase),
            NetworkShape::Star { moderator } => moderator,
            NetworkShape::Chain(chain) => chain.leader(&self.agents, phase),
            NetworkShape::Tree(tree) => tree.leader(&self.agents, phase),
        }
    }

    /// Who speaks when: one group after another, and the members of a group at the same time. Each
    /// agent is in exactly one, and none is larger than what may speak at the same time.
    pub fn groups(&self, phase: DebatePhase) -> Vec<Vec<Name>> {
        let groups = match &self.shape {
            NetworkShape::Mesh => mesh::groups(&self.agents, phase),
            NetworkShape::Star { moderator } => star::groups(&self.agents, moderator),
            NetworkShape::Chain(chain) => chain.groups(),
            NetworkShape::Tree(tree) => tree.groups(phase),
        };
        groups.iter().flat_map(|group| group.chunks(self.max_parallel)).map(<[Name]>::to_vec).collect()
    }

    /// [`Network::groups`] of nobody but `speakers`, as [`choose`](crate::agent::choose()) chose
    /// them.
    pub fn turns(&self, phase: DebatePhase, speakers: &[&Agent]) -> Vec<Vec<Name>> {
        let speaks = |id: &Name| speakers.iter().any(|agent| agent.id == *id);
        let groups = self.groups(phase).into_iter().map(|group| group.into_iter().filter(speaks).collect::<Vec<_>>());
        groups.filter(|group| !group.is_empty()).collect()
    }

    /// Every hop of a message, up to and including whom it is for.
    pub fn route(&self, from: &Name, to: &Name) -> Result<Vec<Name>, RoutingError> {
        self.must_be_there(from)?;
        self.must_be_there(to)?;
        if from == to {
            return Err(RoutingError::InvalidMessage { agent: from.clone() });
        }
        let mut hops: Vec<Name> = Vec::new();
        // No way is longer than once past everybody.
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

    /// Whose words reach `agent`, in the order of the team. In a mesh and in a star everybody
    /// else's; in a chain those of whoever comes before it, and the first hears the last; in a tree
    /// those of its parent, its children and its siblings. Nobody's where it is not there.
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

    /// The link from one to the other.
    pub fn channel(&self, from: &Name, to: &Name) -> Result<AgentLink, RoutingError> {
        self.must_be_there(from)?;
        self.must_be_there(to)?;
        let found = self.channels().into_iter().find(|channel| channel.from == *from && channel.to == *to);
        found.ok_or_else(|| RoutingError::ChannelNotFound { from: from.clone(), to: to.clone() })
    }

    /// How many messages a phase costs at the most, where everybody who speaks says one thing and
    /// whoever passes things on passes them on together. With `n` agents of whom `s` speak:
    /// `s·(n-1)` in a mesh, `s + n-1` in a star, `s` in a chain, `2·(n-1)` in a tree.
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

    /// The same without an agent that failed. A star gets another moderator, a chain closes the
    /// gap. In a tree whoever worked for it works for its siblings in turn, or for its parent where
    /// it has none; a lost root's best child takes its place.
    pub fn without(&self, agent: &Name) -> Result<Network, RoutingError> {
        self.must_be_there(agent)?;
        let left: Vec<Agent> = self.agents.iter().filter(|other| other.id != *agent).cloned().collect();
        if left.is_empty() {
            return Err(RoutingError::TopologyClosed { agent: agent.clone() });
        }
        match &self.shape {
            // A tree is mended rather than built anew: those who are not concerned stay where they
            // are.
            NetworkShape::Tree(tree) => {
                let shape = NetworkShape::Tree(tree.without(agent, &left));
                Ok(Self { topology: self.topology, agents: left, max_parallel: self.max_parallel, shape })
            }
            NetworkShape::Mesh | NetworkShape::Star { .. } | NetworkShape::Chain(_) => {
                Ok(Self::new(self.topology, &left, self.max_parallel))
            }
        }
    }

    /// The tree from the root down, level by level; nothing where it is no tree.
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

/// The weight of a link of which nothing else is known.
const WHOLE: u16 = 100;
