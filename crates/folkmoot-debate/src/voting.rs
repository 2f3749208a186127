//! Voting: what the ballots of a team come to.
//!
//! All of it is arithmetic of integers, and nothing depends on the order in which ballots arrive or
//! candidates are kept. Whoever has no votes has decided nothing. A tie is broken by a rule that is
//! stated and recorded, or it is a tie.
//!
//! A ballot ranks candidates, the best first, and need not rank all: those it leaves out are tied
//! behind the others. Where there are three candidates or more, nobody votes for their own; it is
//! left out of their ballot before anything is counted.

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
        /// Who has more than half of the first places.
        Majority = "majority",
        /// Who has most of the weight behind first places.
        Weighted = "weighted",
        /// Who has most first places.
        Plurality = "plurality",
        /// Whom everybody has in the first place.
        Unanimous = "unanimous",
        /// Who stands highest on average: of n candidates, n-1 points for the first place, down to
        /// none for the last.
        Borda = "borda",
        /// Who beats every other one head to head.
        Condorcet = "condorcet",
    }
}

vocabulary! {
    /// What is counted where nobody beats every other one.
    pub enum Fallback {
        /// Places. It can elect somebody whom a majority likes less than another.
        Borda = "borda",
        /// The strongest chains of victories, by margins.
        Schulze = "schulze",
        /// Victories locked in from the greatest margin down, leaving out those that would close a
        /// circle.
        RankedPairs = "ranked_pairs",
    }
}

vocabulary! {
    /// Why an election decided nothing, or needed another method.
    pub enum VotingReason {
        /// Nobody voted for anybody.
        NoVotes = "no_votes",
        /// Fewer voted than must.
        TooFewVotes = "too_few_votes",
        /// Nobody has more than half.
        NoMajority = "no_majority",
        /// Not everybody agrees.
        NotUnanimous = "not_unanimous",
        /// Several are first, and no rule that was asked for tells them apart.
        Tie = "tie",
        /// Nobody is unbeaten: everybody loses to somebody.
        CondorcetCycle = "condorcet_cycle",
        /// Somebody is unbeaten, but does not beat all.
        CondorcetTie = "condorcet_tie",
    }
}

/// How an election is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VotingRules {
    /// How ballots are counted.
    pub method: VotingMethod,
    /// What is counted where nobody beats every other one.
    pub fallback: Fallback,
    /// What tells those apart who are first together; nothing leaves it a tie.
    pub tie_break: Option<TieBreak>,
    /// How many must vote.
    pub minimum_votes: u32,
}

impl VotingMethod {
    /// The method that `auto` chooses for so many voters.
    pub const fn for_voters(voters: usize) -> Self {
        match voters {
            0..3 => VotingMethod::Unanimous,
            3..6 => VotingMethod::Weighted,
            _ => VotingMethod::Borda,
        }
    }
}

/// What an election came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElectionResult {
    /// How it was counted.
    pub method: VotingMethod,
    /// Who won; nobody where nothing was decided.
    pub winner: Option<Name>,
    /// Why nobody did.
    pub undecided: Option<VotingReason>,
    /// All who were first together before a rule told them apart; the winner alone where nobody
    /// else was.
    pub first: Vec<Name>,
    /// The rule that told them apart.
    pub tie_break: Option<TieBreak>,
    /// The method that had to decide where nobody beat every other one.
    pub fallback: Option<Fallback>,
    /// Why it had to.
    pub fallback_reason: Option<VotingReason>,
    /// What each has: first places, weight, or points as [`Points`] counts them. Head to head it is
    /// how many each beats.
    pub points: BTreeMap<Name, Points>,
    /// Ballots that rank somebody.
    pub counted: u32,
}

/// Points of a candidate, as a fraction: not everybody judges everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Points {
    /// In halves for Borda, where those who are left out share the mean of their places.
    pub points: u64,
    /// Of so many: judges for Borda, otherwise 1.
    pub of: u64,
}

impl Points {
    /// The same number of points for each judge means the same place. Nobody judged is the least
    /// there is.
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

/// Holds an election among these candidates. A ballot that cannot be counted is refused, and with
/// it the election: whoever collects ballots leaves it out, and records why.
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

/// Whom each ballot that is counted has in the first place, in the order of the voters' names.
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

/// Who is first, and who of them wins.
fn decide(mut held: ElectionResult, ballots: &[Ballot], rules: VotingRules) -> ElectionResult {
    if held.first.is_empty() {
        let most = held.points.values().copied().max_by(|one, two| one.compare(*two)).unwrap_or_default();
        let close = |has: &Points| match rules.method {
            // Weights are estimates: what differs by a hundredth does not differ.
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
