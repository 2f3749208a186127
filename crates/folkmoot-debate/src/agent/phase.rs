//! The phases of a debate, and which agents each of them needs.

use super::AgentRole;
use folkmoot_core::vocabulary;

vocabulary! {
    /// A part of a debate, in the order in which they come.
    pub enum DebatePhase {
        /// Agents ask about what is unclear, before anybody answers.
        Dehallucination = "dehallucination",
        /// Agents test their own answers before they show them.
        SelfEvolvement = "self_evolvement",
        /// Agents propose answers.
        Proposal = "proposal",
        /// Agents attack the answers with facts.
        Critique = "critique",
        /// Agents judge the answers against what was asked.
        Review = "review",
        /// Agents improve the best answers.
        Optimization = "optimization",
        /// The red team attacks an answer, and the blue team repairs it.
        Adversarial = "adversarial",
        /// Agents vote.
        Convergence = "convergence",
    }
}

/// How many agents a phase needs, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRule {
    /// This many agents must answer, or all speakers if they are fewer.
    pub min_responses: usize,
    /// At most this many agents speak.
    pub max_parallel: usize,
    /// Agents with these roles speak, if the team has any.
    pub required: &'static [AgentRole],
}

impl DebatePhase {
    pub const fn rule(self) -> PhaseRule {
        use AgentRole::*;
        let (min_responses, max_parallel, required): (usize, usize, &'static [AgentRole]) = match self {
            DebatePhase::Dehallucination => (1, 2, &[Moderator]),
            DebatePhase::SelfEvolvement => (1, 4, &[Proposer, Generator]),
            DebatePhase::Proposal => (1, 4, &[Proposer]),
            DebatePhase::Critique => (2, 6, &[Critic, RedTeam]),
            DebatePhase::Review => (2, 4, &[Reviewer, Architect]),
            DebatePhase::Optimization => (1, 4, &[Optimizer, BlueTeam]),
            DebatePhase::Adversarial => (2, 4, &[RedTeam, BlueTeam]),
            DebatePhase::Convergence => (3, 8, &[Moderator, Validator]),
        };
        PhaseRule { min_responses, max_parallel, required }
    }
}
