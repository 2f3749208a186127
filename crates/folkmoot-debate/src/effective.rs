//! How many independent votes the votes of a debate are worth.
//!
//! Voters who think alike are worth fewer votes than there are voters. By Kish's formula, `n`
//! voters are worth the following, where `r` is the correlation of a pair of voters and the mean
//! of `r` is taken over all pairs:
//!
//! ```text
//!            n                               n²
//!  ───────────────────    which is    ──────────────────    with the sum over all pairs.
//!   1 + (n - 1) · mean                 n + 2 · sum of r
//! ```
//!
//! A debate has a single question, so no correlation can be measured in it. It is estimated for
//! each pair from their agreement `a`, which is how far the two say the same, and from their
//! models. For two models `r` is `0.6 · a`, because the errors of two model families were measured
//! to correlate by 0.6. For one model `r` is the larger of `a` and 0.6, because two samples of one
//! model are at least as alike as two families. So copies of one model that agree are worth one
//! vote, however many they are.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::consensus::same_answer;
use crate::{agent::Share, voting::Ballot};
use folkmoot_core::Name;

#[cfg(test)]
mod tests;

/// How many independent votes a number of votes is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveVotes {
    /// In hundredths of a vote.
    pub votes: u32,
    /// How many voted.
    pub voters: u32,
    /// How many different models spoke for them.
    pub models: u32,
}

/// A model, and the provider that serves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelRef<'a> {
    pub provider: &'a str,
    pub model: &'a str,
}

/// How strongly the errors of two model families correlate, as measured, in hundredths.
const FAMILIES: u64 = 60;
/// A decision that is worth fewer hundredths of a vote than this counts as one voter's.
const FEW: u32 = 150;

impl EffectiveVotes {
    /// What ballots are worth. Two ballots agree as far as they put pairs of candidates in the same
    /// order. The answers of the two voters themselves are not compared. If nothing can be
    /// compared, the ballots are taken to agree.
    pub fn of_ballots(ballots: &[(&Ballot, ModelRef<'_>)]) -> Self {
        Self::of(ballots, |one, two| agreement(one, two).as_hundredths().into())
    }

    /// What answers are worth. Two answers either agree ([`same_answer`]) or do not.
    pub fn of_answers(answers: &[(&str, ModelRef<'_>)]) -> Self {
        Self::of(answers, |one, two| if same_answer(one, two) { 100 } else { 0 })
    }

    /// Whether a person should look, because the decision is worth little more than one vote.
    pub fn is_few(&self) -> bool {
        self.votes < FEW
    }

    fn of<T: Copy>(voters: &[(T, ModelRef<'_>)], agree: impl Fn(T, T) -> u64) -> Self {
        let mut correlation = 0;
        for (at, (one, voice)) in voters.iter().enumerate() {
            for (two, other) in &voters[at + 1..] {
                let agree = agree(*one, *two).min(100);
                correlation += if voice == other { agree.max(FAMILIES) } else { agree * FAMILIES / 100 };
            }
        }
        let count = voters.len() as u64;
        let models: BTreeSet<&ModelRef<'_>> = voters.iter().map(|(_, voice)| voice).collect();
        let votes = (count * count * 10_000).checked_div(count * 100 + 2 * correlation).unwrap_or(0);
        let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self { votes: short(votes), voters: short(count), models: short(models.len() as u64) }
    }
}

fn agreement(one: &Ballot, two: &Ballot) -> Share {
    let own = |name: &&Name| **name == one.voter || **name == two.voter;
    let compared: Vec<&Name> =
        one.ranking.iter().chain(&two.ranking).filter(|name| !own(name)).collect::<BTreeSet<_>>().into_iter().collect();
    let places = |ballot: &'_ Ballot| -> BTreeMap<Name, usize> {
        ballot.ranking.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect()
    };
    let (first, second) = (places(one), places(two));
    // Candidates that a ballot leaves out are tied behind the others.
    let order = |places: &BTreeMap<Name, usize>, left: &Name, right: &Name| {
        let place = |name| places.get(name).copied().unwrap_or(usize::MAX);
        place(left).cmp(&place(right))
    };
    let pairs =
        compared.iter().enumerate().flat_map(|(at, left)| compared[at + 1..].iter().map(move |right| (left, right)));
    let (all, same) = pairs.fold((0, 0), |(all, same), (left, right)| {
        let equal = order(&first, left, right) == order(&second, left, right);
        (all + 1, same + u64::from(equal))
    });
    Share::part(same, all).unwrap_or(Share::ONE)
}

/// As people write it: `1.83`.
impl std::fmt::Display for EffectiveVotes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.votes / 100, self.votes % 100)
    }
}
