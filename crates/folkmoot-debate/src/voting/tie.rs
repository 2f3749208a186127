//! Rules that break a tie for the first place.

use super::Ballot;
use folkmoot_core::{Name, vocabulary};

vocabulary! {
    /// A rule that breaks ties. Each uses only facts about the ballots. If these do not tell the
    /// candidates apart either, it stays a tie.
    pub enum TieBreak {
        /// The choice of the most confident voter wins.
        HighestConfidence = "highest_confidence",
        /// The candidate with the most first places wins.
        MostVotes = "most_votes",
        /// The choice of the voter with the best score so far wins.
        LeaderVote = "leader_vote",
    }
}

impl TieBreak {
    pub(super) fn choose(self, tied: &[Name], ballots: &[Ballot]) -> Option<Name> {
        // The tied candidate that a voter ranks highest.
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
