//! What a debate comes to.

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
        /// Fewer agents answered than must.
        TooFewResponses = "too_few_responses",
        /// Nobody voted.
        NoVotes = "no_votes",
        /// The ballots name nobody by the rule that was asked for.
        Undecided = "undecided",
        /// It has no phase in which anybody votes.
        NoConvergence = "no_convergence",
    }
}

/// What a debate comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebateVerdict {
    /// Whose answer it is; nobody's where nothing was decided.
    pub winner: Option<Name>,
    /// What decided.
    pub decided_by: Option<DecidedBy>,
    /// Why nothing was.
    pub no_decision: Option<NoDecision>,
    /// More about why, in words.
    pub reason: String,
    /// How ballots were counted.
    pub voting_method: Option<VotingMethod>,
    /// How the vote went: unanimous, by majority, by weight.
    pub label: String,
    /// How sure those are who voted for it.
    pub confidence: Option<Share>,
    /// How much agreement there is.
    pub consensus: Option<Share>,
    /// How many rounds it took.
    pub rounds: u32,
    /// How many votes there really are, in hundredths: copies of one model that agree are few.
    pub effective_votes: Option<u32>,
    /// The count.
    pub elected: Option<ElectionResult>,
    /// Each vote.
    pub ballots: Vec<CastVote>,
    /// What others hold against it.
    pub dissent: Vec<Dissent>,
    /// How many tests the winner passes, of how many; those that are suspect are left out.
    pub tests: Option<(u32, u32)>,
    /// How many turns there were of each sort.
    pub turns: Turns,
    /// Whether there is as much agreement as the debate was to reach.
    #[serde(default)]
    pub consensus_reached: bool,
}

impl DebateVerdict {
    /// Without what voters wrote.
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
    /// Whom it ranks, the best first.
    pub ranking: Vec<Name>,
    /// How sure the voter is.
    pub confidence: Share,
    /// What it counts where weights count.
    pub weight: u64,
    /// What decided, by the voter.
    pub evidence: String,
    /// Why it does not count.
    pub refused: Option<String>,
}

/// What somebody holds against the winner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dissent {
    pub agent: Name,
    /// Whose answer it would take.
    pub prefers: Option<Name>,
    pub objection: String,
}

/// How many turns there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// With an answer.
    pub answered: u32,
    /// With words that are no answer.
    pub unparsed: u32,
    /// With nothing.
    pub failed: u32,
    /// With what breaks a rule.
    pub refused: u32,
}
