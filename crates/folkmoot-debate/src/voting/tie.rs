//! What tells those apart who are first together.

use super::Ballot;
use folkmoot_core::{Name, vocabulary};

vocabulary! {
    /// A rule for ties. Each is a fact about the ballots; where it does not tell them apart either,
    /// it stays a tie.
    pub enum TieBreak {
        /// For whom the surest voter is.
        HighestConfidence = "highest_confidence",
        /// Who has most first places.
        MostVotes = "most_votes",
        /// For whom the voter is who has been best until now.
        LeaderVote = "leader_vote",
    }
}

impl TieBreak {
    pub(super) fn choose(self, tied: &[Name], ballots: &[Ballot]) -> Option<Name> {
        // Of those who are tied, whom a voter ranks first.
        let choice = |ballot: &Ballot| ballot.ranking.iter().find(|name| tied.contains(name)).cloned();
        let of_the_best = |measure: &dyn Fn(&Ballot) -> u64| {
            let chosen: Vec<(u64, Name)> =
                ballots.iter().filter_map(|ballot| Some((measure(ballot), choice(ballot)?))).collect();
            let best = chosen.iter().map(|(measure, _)| *measure).max()?;
            let mut names: Vec<Name> =
                chosen.into_iter().filter(|(measure, _)| *measure == best).map(|(_, name)| name).collect();
            names.sort();
            names.dedup();
            <[Name; 1]>::try_from(names).ok().map(|[only]| only)
        };
        match self {
            TieBreak::HighestConfidence => of_the_best(&|ballot| ballot.confidence.as_hundredths().into()),
            TieBreak::LeaderVote => of_the_best(&|ballot| ballot.score.as_tenths().into()),
            TieBreak::MostVotes => {
                let firsts = |name: &Name| ballots.iter().filter(|ballot| ballot.ranking.first() == Some(name)).count();
                let most = tied.iter().map(firsts).max()?;
                let mut best = tied.iter().filter(|name| firsts(name) == most);
                best.next().filter(|_| best.next().is_none()).cloned()
            }
        }
    }
}
