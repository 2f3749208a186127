//! The result of a debate.

use folkmoot_core::{Name, vocabulary};
use serde::{Deserialize, Serialize};

use crate::{
    agent::Share,
    voting::{ElectionResult, VotingMethod},
};

vocabulary! {
    /// What decided.
    pub enum DecidedBy {
        /// The ballots.
        Vote = "vote",
        /// Executed tests: one answer passes what the others fail.
        Tests = "tests",
        /// The first answers, given blindly, were the same.
        Agreement = "agreement",
    }
}

vocabulary! {
    /// Why a debate ended without a decision.
    pub enum NoDecision {
        /// Fewer agents answered than the phase requires.
        TooFewResponses = "too_few_responses",
        /// Nobody voted.
        NoVotes = "no_votes",
        /// By the voting rules, the ballots elect nobody.
        Undecided = "undecided",
        /// The debate has no phase in which agents vote.
        NoConvergence = "no_convergence",
    }
}

/// The result of a debate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebateVerdict {
    /// The author of the winning answer; `None` if nothing was decided.
    pub winner: Option<Name>,
    pub decided_by: Option<DecidedBy>,
    /// Why nothing was decided.
    pub no_decision: Option<NoDecision>,
    /// An explanation, in words.
    pub reason: String,
    pub voting_method: Option<VotingMethod>,
    /// A word of [`Label`](crate::consensus::Label), such as `unanimous` or `majority`; empty
    /// without a vote.
    pub label: String,
    /// The confidence of those who voted for the winner.
    pub confidence: Option<Share>,
    /// How far the agents agree.
    pub consensus: Option<Share>,
    pub rounds: u32,
    /// How many independent votes there are, in hundredths. Copies of one model that agree are
    /// worth few.
    pub effective_votes: Option<u32>,
    /// How the ballots were counted.
    pub elected: Option<ElectionResult>,
    pub ballots: Vec<CastVote>,
    /// Objections to the winner.
    pub dissent: Vec<Dissent>,
    /// How many tests the winner passes, and of how many. Suspect tests are left out.
    pub tests: Option<(u32, u32)>,
    pub turns: Turns,
    /// Whether the agreement reaches what the configuration asks for.
    #[serde(default)]
    pub consensus_reached: bool,
}

impl DebateVerdict {
    /// Removes what voters wrote.
    #[must_use]
    pub fn without_words(mut self) -> Self {
        self.ballots.iter_mut().for_each(|cast| cast.evidence.clear());
        self.dissent.iter_mut().for_each(|dissent| dissent.objection.clear());
        self
    }
}

/// One vote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CastVote {
    pub voter: Name,
    /// The ranked candidates, the best first.
    pub ranking: Vec<Name>,
    pub confidence: Share,
    /// How many ballots it counts as in weighted voting.
    pub weight: u64,
    /// What decided the vote, in the voter's words.
    pub evidence: String,
    /// Why the vote does not count; `None` if it does.
    pub refused: Option<String>,
}

/// An objection to the winner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dissent {
    pub agent: Name,
    /// The author of the answer that this agent prefers.
    pub prefers: Option<Name>,
    pub objection: String,
}

/// How many turns there were, by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    pub answered: u32,
    /// The model's text was not an answer.
    pub unparsed: u32,
    /// The model gave no answer.
    pub failed: u32,
    /// The answer broke a rule of the debate.
    pub refused: u32,
}
