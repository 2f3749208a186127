//! What every pass of a debate works with: the voice of each agent, and what agents may use.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_core::Name;
use folkmoot_debate::{Domain, agent::DebatePhase};
use folkmoot_llm::{Embedder, Prompts};
use folkmoot_tools::tool::ToolOffer;

use super::{Branch, DebateConfig, Effects};
use crate::{RunBudget, Voice};

/// A voice, and the name of the provider that is recorded for it.
#[derive(Clone, Debug)]
pub(super) struct NamedVoice {
    pub provider: String,
    pub voice: Voice,
}

/// Nothing in it changes while the debate goes on.
#[derive(Clone, Debug)]
pub(super) struct DebateContext {
    pub config: DebateConfig,
    pub domain: Domain,
    /// By agent.
    pub voices: BTreeMap<Name, NamedVoice>,
    /// The voice of agents without one of their own; absent if every agent has one.
    pub default_voice: Option<NamedVoice>,
    pub budget: RunBudget,
    pub prompts: Arc<Prompts>,
    pub effects: Arc<dyn Effects>,
    /// Compares texts by meaning.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The tools of each agent that has some.
    pub offers: BTreeMap<Name, Vec<ToolOffer>>,
    pub branch: Option<Branch>,
}

/// One attempt at a phase: where in a debate something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhaseAttempt {
    pub phase: DebatePhase,
    pub round: u32,
    /// How often the phase was done before in this round, because people wanted it again or its
    /// models failed.
    pub again: u32,
}

impl PhaseAttempt {
    /// A key that is unique to this attempt.
    pub fn key(&self, name: &str) -> String {
        let again = if self.again == 0 { String::new() } else { format!("~{}", self.again + 1) };
        format!("{}/{}{again}/{name}", self.round, self.phase)
    }
}
