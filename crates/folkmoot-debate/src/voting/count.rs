//! Counts first places, weights and Borda points.

use std::collections::BTreeMap;

use super::{Ballot, Points, ballot::judged};
use folkmoot_core::Name;

type PointsByName = BTreeMap<Name, Points>;

/// How often each candidate is in the first place.
pub(super) fn first_places(candidates: &[Name], ballots: &[Ballot]) -> PointsByName {
    firsts(candidates, ballots, |_| 1)
}

/// The weight of all ballots that have each candidate first.
pub(super) fn weights(candidates: &[Name], ballots: &[Ballot]) -> PointsByName {
    firsts(candidates, ballots, |ballot| ballot.weight)
}

fn firsts(candidates: &[Name], ballots: &[Ballot], worth: impl Fn(&Ballot) -> u64) -> PointsByName {
    let mut counted: PointsByName = candidates.iter().map(|name| (name.clone(), Points { points: 0, of: 1 })).collect();
    for ballot in ballots {
        if let Some(has) = ballot.ranking.first().and_then(|first| counted.get_mut(first)) {
            has.points = has.points.saturating_add(worth(ballot));
        }
    }
    counted
}

/// Borda points, doubled so that the mean of two places is a whole number, and the number of
/// judges.
pub(super) fn places(candidates: &[Name], ballots: &[Ballot]) -> PointsByName {
    let mut counted: PointsByName = candidates.iter().map(|name| (name.clone(), Points::default())).collect();
    for ballot in ballots {
        let judged: Vec<&Name> = judged(candidates, ballot).collect();
        let left_out = judged.len() - ballot.ranking.len();
        for name in &judged {
            let place = ballot.ranking.iter().position(|ranked| ranked == *name);
            let doubled = match place {
                Some(place) => 2 * (judged.len() - 1 - place),
                // The mean of the last places, of which the very last gives no points.
                None => left_out - 1,
            };
            if let Some(has) = counted.get_mut(*name) {
                has.points += doubled as u64;
                has.of += 1;
            }
        }
    }
    counted
}
