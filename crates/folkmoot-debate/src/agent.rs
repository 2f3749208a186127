//! Agents: who speaks in a debate, in which role, how well it fits, and who of a team speaks in
//! which phase.
//!
//! All of it is tables and arithmetic of integers: the same question gives the same team and the
//! same speakers, forever. Nothing here knows a model or a prompt; an [`Agent`] names its model,
//! and whoever runs it finds it.

pub mod affinity;
pub mod choose;
pub mod domain;
pub mod measure;
pub mod phase;
pub mod role;
pub mod specialist;
pub mod team;
pub mod tool_kind;

use serde::{Deserialize, Serialize};

use folkmoot_core::Name;

pub use affinity::{Affinity, affinity, primary_role, weight};
pub use choose::{Basis, Speakers, choose};
pub use domain::{Domain, DomainKeyword, Guess};
pub use measure::{OutOfRange, Score, Share};
pub use phase::{DebatePhase, PhaseRule};
pub use role::AgentRole;
pub use specialist::{SPECIALISTS, Specialist};
pub use team::{Team, TeamError};
pub use tool_kind::ToolKind;

/// Somebody who speaks in a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Unique in its team. Other agents are not shown it: who said something must not count.
    pub id: Name,
    /// What it is there for.
    pub role: AgentRole,
    /// What it knows best.
    #[serde(default = "general")]
    pub domain: Domain,
    /// How well it knows that.
    #[serde(default = "expertise")]
    pub expertise: Share,
    /// How good it has been until now.
    #[serde(default)]
    pub score: Score,
    /// How sure it is while nobody has asked.
    #[serde(default = "confidence")]
    pub confidence: Share,
    /// The sorts of tools that it works with; those of its role where none is named.
    /// [`Agent::tools`] knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolKind>,
    /// The model that speaks for it; the configured one where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// A model, as the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelName {
    /// Whose it is.
    pub provider: String,
    /// Which one; the provider's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Agent {
    /// An agent of which nothing is known yet but its role and its domain.
    pub fn new(id: Name, role: AgentRole, domain: Domain) -> Self {
        Self {
            id,
            role,
            domain,
            expertise: Share::EXPERTISE,
            score: Score::default(),
            confidence: Share::CONFIDENCE,
            tools: Vec::new(),
            model: None,
        }
    }

    /// The sorts of tools that it works with.
    pub fn tools(&self) -> &[ToolKind] {
        if self.tools.is_empty() { self.role.tools() } else { &self.tools }
    }

    /// How well its role fits what it knows.
    pub fn affinity(&self) -> Affinity {
        affinity(self.domain, self.role, self.expertise)
    }
}

fn general() -> Domain {
    Domain::General
}

fn expertise() -> Share {
    Share::EXPERTISE
}

fn confidence() -> Share {
    Share::CONFIDENCE
}
