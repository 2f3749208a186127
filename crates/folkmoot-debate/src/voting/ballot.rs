//! Ballots, and why some cannot be counted.

use serde::{Deserialize, Serialize};

use crate::agent::{Score, Share};
use folkmoot_core::Name;

/// The ballot of one voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ballot {
    pub voter: Name,
    /// The candidates, the best first. Those that are left out are tied behind them.
    pub ranking: Vec<Name>,
    /// Candidates that the voter does not judge because it was not shown them. Its own answer need
    /// not be listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recused: Vec<Name>,
    /// How many ballots it counts as in weighted voting.
    pub weight: u64,
    pub confidence: Share,
    /// How good the voter's contributions have been so far.
    pub score: Score,
}

/// Why a ballot cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBallot {
    /// It names somebody twice.
    #[error("{voter}'s ballot names {candidate} twice")]
    Twice { voter: Name, candidate: Name },
    /// It names somebody who is not a candidate.
    #[error("{voter}'s ballot names {candidate}, who is no candidate")]
    Unknown { voter: Name, candidate: Name },
    /// A voter has two ballots.
    #[error("there are two ballots of {voter}")]
    VotesTwice { voter: Name },
    /// A candidate is listed twice.
    #[error("{candidate} stands twice")]
    StandsTwice { candidate: Name },
}

/// From this many candidates on, nobody votes for their own answer. With two, there would be
/// nothing left to rank.
const NO_SELF_VOTES_FROM: usize = 3;

/// The ballots as they are counted: without candidates that the voter does not judge, and without
/// ballots that then rank nobody.
pub(super) fn checked(candidates: &[Name], ballots: &[Ballot]) -> Result<Vec<Ballot>, BadBallot> {
    if let Some(candidate) = twice(candidates) {
        return Err(BadBallot::StandsTwice { candidate: candidate.clone() });
    }
    let voters: Vec<Name> = ballots.iter().map(|ballot| ballot.voter.clone()).collect();
    if let Some(voter) = twice(&voters) {
        return Err(BadBallot::VotesTwice { voter: voter.clone() });
    }
    for Ballot { voter, ranking, .. } in ballots {
        if let Some(candidate) = ranking.iter().find(|name| !candidates.contains(name)) {
            return Err(BadBallot::Unknown { voter: voter.clone(), candidate: candidate.clone() });
        }
        if let Some(candidate) = twice(ranking) {
            return Err(BadBallot::Twice { voter: voter.clone(), candidate: candidate.clone() });
        }
    }
    let mut checked = ballots.to_vec();
    if candidates.len() >= NO_SELF_VOTES_FROM {
        checked.iter_mut().for_each(|ballot| ballot.ranking.retain(|name| *name != ballot.voter));
    }
    checked.iter_mut().for_each(|ballot| ballot.ranking.retain(|name| !ballot.recused.contains(name)));
    checked.retain(|ballot| !ballot.ranking.is_empty());
    // Sorted, so that nothing depends on the order in which the ballots were cast.
    checked.sort_by(|one, two| one.voter.cmp(&two.voter));
    Ok(checked)
}

/// The candidates that a voter judges: all but those it is recused from and, with three or more
/// candidates, its own answer.
pub(super) fn judged<'a>(candidates: &'a [Name], ballot: &'a Ballot) -> impl Iterator<Item = &'a Name> {
    let all = candidates.len() < NO_SELF_VOTES_FROM;
    candidates.iter().filter(move |name| (all || **name != ballot.voter) && !ballot.recused.contains(name))
}

fn twice(names: &[Name]) -> Option<&Name> {
    names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)).map(|(_, name)| name)
}
