//! Chooses a topology for a debate that does not name one.

use folkmoot_core::vocabulary;
use serde::{Deserialize, Serialize};

use super::Topology;

/// What decides which topology fits a debate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traits {
    /// How many agents debate.
    pub agents: usize,
    /// How many of them may speak at the same time.
    pub max_parallel: usize,
    /// Parts of the work belong to parts of the team.
    pub hierarchical: bool,
    /// Each builds on the one before, or the order must be the same each time.
    pub ordered: bool,
    /// One agent should see everything and pass it on.
    pub centralized: bool,
}

vocabulary! {
    /// Why a topology was chosen.
    pub enum SelectReason {
        /// The work has parts.
        Hierarchical = "hierarchical",
        /// The order matters.
        Ordered = "ordered",
        /// One agent should see everything.
        Centralized = "centralized",
        /// At most three agents.
        FewAgents = "few_agents",
        /// At most six agents, of whom no more than two may speak at the same time.
        LittleParallel = "little_parallel",
        /// Nothing speaks against everybody hearing everybody.
        ManyAgents = "many_agents",
    }
}

/// A topology, and why it was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyChoice {
    pub topology: Topology,
    pub reason: SelectReason,
}

impl Traits {
    /// A team about which only its size is known.
    pub const fn of(agents: usize, max_parallel: usize) -> Self {
        Self { agents, max_parallel, hierarchical: false, ordered: false, centralized: false }
    }
}

impl Topology {
    /// The first topology that fits. Facts about the work count before the size of the team.
    pub const fn select(traits: Traits) -> TopologyChoice {
        let (topology, reason) = match traits {
            Traits { hierarchical: true, .. } => (Topology::Tree, SelectReason::Hierarchical),
            Traits { ordered: true, .. } => (Topology::Chain, SelectReason::Ordered),
            Traits { centralized: true, .. } => (Topology::Star, SelectReason::Centralized),
            Traits { agents: 0..=3, .. } => (Topology::Chain, SelectReason::FewAgents),
            Traits { agents: 4..=6, max_parallel: 0..=2, .. } => (Topology::Star, SelectReason::LittleParallel),
            Traits { .. } => (Topology::GraphMesh, SelectReason::ManyAgents),
        };
        TopologyChoice { topology, reason }
    }
}
