//! The phases of a debate, and what each needs.

use super::AgentRole;
use folkmoot_core::vocabulary;

vocabulary! {
    /// A part of a debate, in the order in which they come.
    pub enum DebatePhase {
        /// What is not clear is asked first.
        Dehallucination = "dehallucination",
        /// Agents test their own answers before they show them.
        SelfEvolvement = "self_evolvement",
        /// Answers are made.
        Proposal = "proposal",
        /// Answers are attacked with facts.
        Critique = "critique",
        /// Answers are judged against what was asked.
        Review = "review",
        /// The best ones are made better.
        Optimization = "optimization",
        /// One side breaks, the other mends.
        Adversarial = "adversarial",
        /// It is decided.
        Convergence = "convergence",
    }
}

/// What a phase needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRule {
    /// So many agents must have answered, or all that were asked where they are fewer.
    pub min_responses: usize,
    /// So many agents speak at the most.
    pub max_parallel: usize,
    /// Who should speak.
    pub required: &'static [AgentRole],
}

impl DebatePhase {
    /// What the phase needs.
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
