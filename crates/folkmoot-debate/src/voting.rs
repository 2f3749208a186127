//! Voting: counts the ballots of a team and decides who wins.
//!
//! Everything here is integer arithmetic, and nothing depends on the order of ballots or
//! candidates. Without votes nothing is decided. A tie is broken by a rule that is stated and
//! recorded, or it stays a tie.
//!
//! A ballot ranks candidates, the best first. It need not rank all; those it leaves out are tied
//! behind the others. With three or more candidates nobody votes for their own answer: it is taken
//! out of the ballot before anything is counted.

mod ballot;
mod count;
mod pairwise;
#[cfg(test)]
mod tests;
mod tie;

use folkmoot_core::{Name, vocabulary};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use ballot::{BadBallot, Ballot};
pub use pairwise::Pairwise;
pub use tie::TieBreak;

vocabulary! {
    /// How ballots are counted.
    pub enum VotingMethod {
        /// The candidate with more than half of the first places wins.
        Majority = "majority",
        /// The candidate with the most weight behind its first places wins.
        Weighted = "weighted",
        /// The candidate with the most first places wins.
        Plurality = "plurality",
        /// The candidate that every ballot has in the first place wins.
        Unanimous = "unanimous",
        /// The candidate with the most points per ballot wins. Of n candidates, the first place
        /// gives n-1 points, down to none for the last.
        Borda = "borda",
        /// The candidate that beats every other one head to head wins.
        Condorcet = "condorcet",
    }
}

vocabulary! {
    /// How Condorcet voting decides if no candidate beats every other one.
    pub enum Fallback {
        /// Borda points. They can elect a candidate although a majority prefers another.
        Borda = "borda",
        /// The strongest chains of head-to-head victories, by margins.
        Schulze = "schulze",
        /// Head-to-head victories are locked in from the greatest margin down. Victories that would
        /// close a cycle are left out.
        RankedPairs = "ranked_pairs",
    }
}

vocabulary! {
    /// Why an election decided nothing, or needed another method.
    pub enum VotingReason {
        /// Nobody voted for anybody.
        NoVotes = "no_votes",
        /// Fewer voted than the rules require.
        TooFewVotes = "too_few_votes",
        /// Nobody has more than half.
        NoMajority = "no_majority",
        /// Not everybody agrees.
        NotUnanimous = "not_unanimous",
        /// Several candidates are first, and there is no tie-break that tells them apart.
        Tie = "tie",
        /// No candidate is unbeaten: each loses to another.
        CondorcetCycle = "condorcet_cycle",
        /// A candidate is unbeaten, but does not beat all others.
        CondorcetTie = "condorcet_tie",
    }
}

/// How an election is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VotingRules {
    pub method: VotingMethod,
    /// Used by Condorcet voting if no candidate beats every other one.
    pub fallback: Fallback,
    /// How a tie for the first place is broken; `None` leaves it a tie.
    pub tie_break: Option<TieBreak>,
    /// With fewer votes nothing is decided.
    pub minimum_votes: u32,
}

impl VotingMethod {
    /// The method that `auto` chooses for this many voters.
    pub const fn for_voters(voters: usize) -> Self {
        match voters {
            0..3 => VotingMethod::Unanimous,
            3..6 => VotingMethod::Weighted,
            _ => VotingMethod::Borda,
        }
    }
}

/// The result of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionResult {
    pub method: VotingMethod,
    /// `None` if nothing was decided.
    pub winner: Option<Name>,
    /// Why nothing was decided.
    pub undecided: Option<VotingReason>,
    /// All candidates that were first before a tie-break; only the winner if there was no tie.
    pub first: Vec<Name>,
    /// The rule that broke the tie.
    pub tie_break: Option<TieBreak>,
    /// The method that decided because no candidate beat every other one.
    pub fallback: Option<Fallback>,
    /// Why the fallback was needed.
    pub fallback_reason: Option<VotingReason>,
    /// The points of each candidate: first places, weight, or Borda points. With Condorcet voting,
    /// how many others it beats.
    pub points: BTreeMap<Name, Points>,
    /// How many ballots rank somebody.
    pub counted: u32,
}

/// The points of a candidate, as a fraction, because not every voter judges every candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Points {
    /// For Borda in halves, because the candidates that a ballot leaves out share the mean of the
    /// last places.
    pub points: u64,
    /// For Borda, the number of ballots that judge the candidate; otherwise 1.
    pub of: u64,
}

impl Points {
    /// Compares points per judge. A candidate that nobody judged is last.
    fn compare(self, other: Self) -> std::cmp::Ordering {
        let (one, two) =
            (u128::from(self.points) * u128::from(other.of), u128::from(other.points) * u128::from(self.of));
        match (self.of, other.of) {
            (0, 0) => std::cmp::Ordering::Equal,
            (0, _) => std::cmp::Ordering::Less,
            (_, 0) => std::cmp::Ordering::Greater,
            _ => one.cmp(&two),
        }
    }
}

/// Holds an election among these candidates. One ballot that cannot be counted makes the whole
/// election an error: the caller must leave such ballots out, and record why.
pub fn elect(candidates: &[Name], ballots: &[Ballot], rules: VotingRules) -> Result<ElectionResult, BadBallot> {
    let ballots = ballot::checked(candidates, ballots)?;
    let counted = u32::try_from(ballots.len()).unwrap_or(u32::MAX);
    let empty = ElectionResult {
        method: rules.method,
        winner: None,
        undecided: None,
        first: Vec::new(),
        tie_break: None,
        fallback: None,
        fallback_reason: None,
        points: BTreeMap::new(),
        counted,
    };
    let undecided = |reason| Ok(ElectionResult { undecided: Some(reason), ..empty.clone() });
    if ballots.is_empty() {
        return undecided(VotingReason::NoVotes);
    }
    if counted < rules.minimum_votes {
        return undecided(VotingReason::TooFewVotes);
    }
    let held = match rules.method {
        VotingMethod::Plurality => ElectionResult { points: count::first_places(candidates, &ballots), ..empty },
        VotingMethod::Majority => {
            let points = count::first_places(candidates, &ballots);
            let lacks = points.values().all(|has| has.points * 2 <= u64::from(counted));
            ElectionResult { undecided: lacks.then_some(VotingReason::NoMajority), points, ..empty }
        }
        VotingMethod::Unanimous => {
            let points = count::first_places(candidates, &ballots);
            let differs = points.values().all(|has| has.points < u64::from(counted));
            ElectionResult { undecided: differs.then_some(VotingReason::NotUnanimous), points, ..empty }
        }
        VotingMethod::Weighted => {
            let points = count::weights(candidates, &ballots);
            let weightless = points.values().all(|has| has.points == 0);
            ElectionResult { undecided: weightless.then_some(VotingReason::NoVotes), points, ..empty }
        }
        VotingMethod::Borda => ElectionResult { points: count::places(candidates, &ballots), ..empty },
        VotingMethod::Condorcet => condorcet(candidates, &ballots, rules.fallback, empty),
    };
    Ok(decide(held, &ballots, rules))
}

/// The first choice of each ballot that is counted, in the order of the voters' names.
pub fn first_choices(candidates: &[Name], ballots: &[Ballot]) -> Result<Vec<Name>, BadBallot> {
    let counted = ballot::checked(candidates, ballots)?;
    Ok(counted.into_iter().filter_map(|ballot| ballot.ranking.into_iter().next()).collect())
}

fn condorcet(candidates: &[Name], ballots: &[Ballot], fallback: Fallback, empty: ElectionResult) -> ElectionResult {
    let pairwise = Pairwise::of(candidates, ballots);
    let points = pairwise.victories();
    if let Some(winner) = pairwise.winner() {
        return ElectionResult { first: vec![winner], points, ..empty };
    }
    let reason = if pairwise.has_unbeaten() { VotingReason::CondorcetTie } else { VotingReason::CondorcetCycle };
    let held = ElectionResult { fallback: Some(fallback), fallback_reason: Some(reason), ..empty };
    match fallback {
        Fallback::Borda => ElectionResult { points: count::places(candidates, ballots), ..held },
        Fallback::Schulze => ElectionResult { first: pairwise.schulze(), points, ..held },
        Fallback::RankedPairs => ElectionResult { first: pairwise.ranked_pairs(), points, ..held },
    }
}

/// Determines who is first and, if there are several, who of them wins.
fn decide(mut held: ElectionResult, ballots: &[Ballot], rules: VotingRules) -> ElectionResult {
    if held.first.is_empty() {
        let most = held.points.values().copied().max_by(|one, two| one.compare(*two)).unwrap_or_default();
        let close = |has: &Points| match rules.method {
            // Weights are estimates, so a difference of up to one hundredth is a tie.
            VotingMethod::Weighted => u128::from(most.points - has.points) * 100 <= u128::from(most.points),
            _ => has.compare(most).is_eq(),
        };
        held.first = held.points.iter().filter(|(_, has)| close(has)).map(|(name, _)| name.clone()).collect();
    }
    if held.undecided.is_some() {
        return held;
    }
    match (&held.first[..], rules.tie_break) {
        ([only], _) => held.winner = Some(only.clone()),
        (several, Some(rule)) => {
            held.winner = rule.choose(several, ballots);
            held.tie_break = held.winner.as_ref().map(|_| rule);
            held.undecided = held.winner.is_none().then_some(VotingReason::Tie);
        }
        (_, None) => held.undecided = Some(VotingReason::Tie),
    }
    held
}
