//! Head-to-head counts: for each pair of candidates, how many voters prefer one to the other.

use std::collections::BTreeMap;

use super::{Ballot, Points, ballot::judged};
use folkmoot_core::Name;

/// How many voters prefer each candidate to each other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairwise {
    /// Sorted.
    names: Vec<Name>,
    prefer: Vec<Vec<u64>>,
}

impl Pairwise {
    /// Counts checked ballots. A ranked candidate is preferred to those that are left out.
    pub(super) fn of(candidates: &[Name], ballots: &[Ballot]) -> Self {
        let mut names = candidates.to_vec();
        names.sort();
        let mut prefer = vec![vec![0; names.len()]; names.len()];
        for ballot in ballots {
            let place = |name: &Name| ballot.ranking.iter().position(|ranked| ranked == name).unwrap_or(usize::MAX);
            let placed: BTreeMap<&Name, usize> = judged(candidates, ballot).map(|name| (name, place(name))).collect();
            for (one, above) in names.iter().enumerate() {
                for (two, below) in names.iter().enumerate() {
                    if let (Some(above), Some(below)) = (placed.get(above), placed.get(below))
                        && above < below
                    {
                        prefer[one][two] += 1;
                    }
                }
            }
        }
        Self { names, prefer }
    }

    /// How many more voters prefer `one` to `two` than the other way round.
    fn margin(&self, one: usize, two: usize) -> i64 {
        let count = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        count(self.prefer[one][two]) - count(self.prefer[two][one])
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.names.len()
    }

    fn others(&self, one: usize) -> impl Iterator<Item = usize> + '_ {
        self.all().filter(move |other| *other != one)
    }

    fn named(&self, is_one: impl Fn(usize) -> bool) -> Vec<Name> {
        self.all().filter(|one| is_one(*one)).map(|one| self.names[one].clone()).collect()
    }

    /// The candidate that beats every other one.
    pub fn winner(&self) -> Option<Name> {
        self.named(|one| self.others(one).all(|two| self.margin(one, two) > 0)).pop()
    }

    /// Whether there is a candidate that loses to no other.
    pub fn has_unbeaten(&self) -> bool {
        self.all().any(|one| self.others(one).all(|two| self.margin(one, two) >= 0))
    }

    /// How many others each candidate beats.
    pub(super) fn victories(&self) -> BTreeMap<Name, Points> {
        let beats = |one: usize| self.others(one).filter(|two| self.margin(one, *two) > 0).count() as u64;
        self.all().map(|one| (self.names[one].clone(), Points { points: beats(one), of: 1 })).collect()
    }

    /// The candidates whose strongest chain of victories to every other candidate is at least as
    /// strong as the chain back. A chain is as strong as its smallest margin.
    pub fn schulze(&self) -> Vec<Name> {
        let mut strongest: Vec<Vec<i64>> =
            self.all().map(|one| self.all().map(|two| self.margin(one, two).max(0)).collect()).collect();
        for through in self.all() {
            for from in self.others(through) {
                for to in self.others(through).filter(|to| *to != from) {
                    let by = strongest[from][through].min(strongest[through][to]);
                    strongest[from][to] = strongest[from][to].max(by);
                }
            }
        }
        self.named(|one| self.others(one).all(|two| strongest[one][two] >= strongest[two][one]))
    }

    /// The candidates that no locked victory beats. Victories of equal margin are judged together:
    /// those that close a cycle with locked victories, or with each other, are all left out, so
    /// that no order among them decides.
    pub fn ranked_pairs(&self) -> Vec<Name> {
        let mut locked = vec![vec![false; self.names.len()]; self.names.len()];
        let mut margins: Vec<i64> = self
            .all()
            .flat_map(|one| self.others(one).map(move |two| self.margin(one, two)))
            .filter(|m| *m > 0)
            .collect();
        margins.sort_unstable();
        margins.dedup();
        for margin in margins.into_iter().rev() {
            let equal: Vec<(usize, usize)> = self
                .all()
                .flat_map(|one| self.others(one).map(move |two| (one, two)))
                .filter(|(one, two)| self.margin(*one, *two) == margin)
                .collect();
            let mut together = locked.clone();
            equal.iter().for_each(|(one, two)| together[*one][*two] = true);
            for (one, two) in equal {
                if !reaches(&together, two, one) {
                    locked[one][two] = true;
                }
            }
        }
        self.named(|one| self.all().all(|two| !locked[two][one]))
    }
}

/// Whether a chain of victories leads from `from` to `to`.
fn reaches(beats: &[Vec<bool>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; beats.len()];
    let mut next = vec![from];
    while let Some(at) = next.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            next.extend((0..beats.len()).filter(|other| beats[at][*other] && !seen[*other]));
        }
    }
    false
}
