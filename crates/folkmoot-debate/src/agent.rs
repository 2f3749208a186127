//! Agents: who speaks in a debate, in which role, how well the role fits, and which agents of a
//! team speak in which phase.
//!
//! Everything here is tables and integer arithmetic, so the same question always gives the same
//! team and the same speakers. Nothing here knows a model or a prompt. An [`Agent`] only names its
//! model; the workflow that runs the agent looks the model up.

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

/// One participant of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Unique in its team. Other agents are not shown it, so that they judge what was said and not
    /// who said it.
    pub id: Name,
    pub role: AgentRole,
    /// The domain that it knows best.
    #[serde(default = "general")]
    pub domain: Domain,
    /// How well it knows its domain.
    #[serde(default = "expertise")]
    pub expertise: Share,
    /// How good its contributions have been so far.
    #[serde(default)]
    pub score: Score,
    /// How confident it is taken to be until it states a confidence of its own.
    #[serde(default = "confidence")]
    pub confidence: Share,
    /// The kinds of tools that it works with. If empty, it works with those of its role; see
    /// [`Agent::tools`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolKind>,
    /// The model that speaks for it; `None` means the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// A model, as the configuration names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelName {
    pub provider: String,
    /// `None` means the provider's default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Agent {
    /// An agent with default expertise, score and confidence, the tools of its role, and no model
    /// of its own.
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

    /// The kinds of tools that it works with: its own list or, if that is empty, its role's.
    pub fn tools(&self) -> &[ToolKind] {
        if self.tools.is_empty() { self.role.tools() } else { &self.tools }
    }

    /// How well its role fits its domain and expertise.
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
