//! How far a phase's answers agree, and what a decision may be called.
//!
//! The level of a consensus is 0.4 of how sure those are who answered, 0.4 of how far their votes
//! agree, and 0.2 of how many words they share. What is not there has no weight, and the record
//! says what was: without votes nobody agreed by vote, and whoever failed or could not be read has
//! said nothing.

use folkmoot_core::{Name, vocabulary};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::words::words;
use crate::{
    agent::Share,
    voting::{BadBallot, Ballot, ElectionResult, Fallback, VotingMethod, first_choices},
};

#[cfg(test)]
mod tests;

/// What came of asking somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution<'a> {
    /// An answer that could be read.
    Answer {
        /// What it says.
        text: &'a str,
        /// How sure its author is, where that was said.
        confidence: Option<Share>,
    },
    /// No answer came.
    Failed,
    /// What came could not be read.
    Unparsed,
}

/// How far those agree who answered. Parts that were not there are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consensus {
    /// All parts together; none where there is no part.
    pub level: Option<Share>,
    /// How sure those are, on average, who said how sure they are.
    pub confidence: Option<Share>,
    /// The votes for whoever has most of them, of all votes.
    pub agreement: Option<Share>,
    /// Of the words with more than three characters those that stand in more than one answer, where
    /// there are two answers.
    pub overlap: Option<Share>,
    /// How many answered.
    pub answers: u32,
    /// How many failed or could not be read. They are in no part.
    pub lost: u32,
    /// How many voted.
    pub votes: u32,
}

impl Consensus {
    /// What contributions and first choices come to. Nobody answered is no consensus, whatever was
    /// voted.
    pub fn of(contributions: &[Contribution<'_>], votes: &[Name]) -> Self {
        let answers: Vec<(&str, Option<Share>)> = contributions
            .iter()
            .filter_map(|contribution| match contribution {
                Contribution::Answer { text, confidence } => Some((*text, *confidence)),
                Contribution::Failed | Contribution::Unparsed => None,
            })
            .collect();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let confidence = mean(answers.iter().filter_map(|(_, confidence)| *confidence));
        let agreement = agreement(votes);
        let overlap = overlap(answers.iter().map(|(text, _)| *text));
        let level = if answers.is_empty() { None } else { level([(4, confidence), (4, agreement), (2, overlap)]) };
        Self {
            level,
            confidence,
            agreement,
            overlap,
            answers: count(answers.len()),
            lost: count(contributions.len() - answers.len()),
            votes: count(votes.len()),
        }
    }

    /// Whether it is enough to stop. It never is where nobody voted: to be sure of oneself is not
    /// to agree.
    pub fn reaches(&self, threshold: Share) -> bool {
        self.votes > 0 && self.level.is_some_and(|level| level >= threshold)
    }
}

fn level(parts: [(u64, Option<Share>); 3]) -> Option<Share> {
    let there = parts.iter().filter_map(|(weight, part)| Some((weight, u64::from((*part)?.as_hundredths()))));
    let (weights, sum) = there.fold((0, 0), |(weights, sum), (weight, part)| (weights + weight, sum + weight * part));
    Share::part(sum, weights * 100)
}

fn mean(shares: impl Iterator<Item = Share>) -> Option<Share> {
    let (count, sum) = shares.fold((0, 0), |(count, sum), share| (count + 1, sum + u64::from(share.as_hundredths())));
    Share::part(sum, count * 100)
}

fn agreement(votes: &[Name]) -> Option<Share> {
    let mut counts: BTreeMap<&Name, u64> = BTreeMap::new();
    for vote in votes {
        *counts.entry(vote).or_default() += 1;
    }
    Share::part(counts.into_values().max()?, votes.len() as u64)
}

fn overlap<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> Option<Share> {
    if texts.len() < 2 {
        return None;
    }
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for word in texts.flat_map(|text| words(text, 3)) {
        *counts.entry(word).or_default() += 1;
    }
    let shared = counts.values().filter(|count| **count > 1).count();
    Share::part(shared as u64, counts.len() as u64)
}

/// Whether two answers say the same: apart from upper and lower case, white space, quotation marks,
/// emphasis and brackets around words, marks that end a sentence, and the form of numbers
/// (`1,000.50` is `1000.5`). Nothing is the same as no answer. When in doubt they differ: to ask
/// once more costs less than to take a disagreement for an agreement.
pub fn same_answer(one: &str, two: &str) -> bool {
    let one = normalised(one);
    !one.is_empty() && one == normalised(two)
}

fn normalised(answer: &str) -> Vec<String> {
    let tokens = bare(answer).split_whitespace().map(bare).filter(|token| !token.is_empty());
    tokens.map(|token| number(token).unwrap_or_else(|| token.to_lowercase())).collect()
}

/// Without what stands around it and what ends it.
fn bare(mut text: &str) -> &str {
    const AROUND: [(&str, &str); 9] = [
        ("**", "**"),
        ("*", "*"),
        ("\"", "\""),
        ("'", "'"),
        ("`", "`"),
        ("(", ")"),
        ("“", "”"),
        ("‘", "’"),
        ("«", "»"),
    ];
    loop {
        let was = text.len();
        text = text.trim();
        text = text.trim_end_matches(['.', ',', ';', ':', '?', '…', '。']);
        // 5! is another number than 5.
        if let Some(before) = text.strip_suffix('!').filter(|before| !before.ends_with(|c: char| c.is_numeric())) {
            text = before;
        }
        for (open, close) in AROUND {
            let inner = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
            text = inner.filter(|inner| !inner.contains(open) && !inner.contains(close)).unwrap_or(text);
        }
        if text.len() == was {
            return text;
        }
    }
}

/// A decimal number as it is written shortest: no plus, no leading or closing zeros, no commas
/// between thousands.
fn number(token: &str) -> Option<String> {
    let (sign, digits) = match token.strip_prefix(['-', '−']) {
        Some(digits) => ("-", digits),
        None => ("", token.strip_prefix('+').unwrap_or(token)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = without_commas(whole)?;
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(&whole) || !all_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let sign = if whole == "0" && fraction.is_empty() { "" } else { sign };
    Some(format!("{sign}{whole}{point}{fraction}"))
}

fn without_commas(whole: &str) -> Option<String> {
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let thousands = (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3);
    (rest.is_empty() || thousands).then(|| format!("{first}{}", rest.concat()))
}

vocabulary! {
    /// What a decision may be called.
    pub enum Label {
        /// Every ballot has the winner first.
        Unanimous = "unanimous",
        /// More than half of the ballots have.
        Majority = "majority",
        /// By weight.
        WeightedVoting = "weighted_voting",
        /// By most first places.
        Plurality = "plurality",
        /// By places.
        Borda = "borda",
        /// Head to head.
        Condorcet = "condorcet",
        /// Head to head, by the strongest chains of victories.
        Schulze = "schulze",
        /// Head to head, by the greatest victories.
        RankedPairs = "ranked_pairs",
    }
}

/// What a decision may be called: by how many are behind it, else by what decided. Nothing where
/// nothing was decided, and so never anything without votes.
pub fn label(candidates: &[Name], ballots: &[Ballot], elected: &ElectionResult) -> Result<Option<Label>, BadBallot> {
    let choices = first_choices(candidates, ballots)?;
    let Some(winner) = &elected.winner else { return Ok(None) };
    let behind = choices.iter().filter(|choice| *choice == winner).count();
    let label = match elected.fallback {
        _ if choices.is_empty() => return Ok(None),
        _ if behind == choices.len() => Label::Unanimous,
        _ if behind * 2 > choices.len() => Label::Majority,
        Some(Fallback::Borda) => Label::Borda,
        Some(Fallback::Schulze) => Label::Schulze,
        Some(Fallback::RankedPairs) => Label::RankedPairs,
        None => match elected.method {
            VotingMethod::Weighted => Label::WeightedVoting,
            VotingMethod::Borda => Label::Borda,
            VotingMethod::Condorcet => Label::Condorcet,
            // Who wins by the latter two has more than half of the ballots, and was called so
            // above.
            VotingMethod::Plurality | VotingMethod::Majority | VotingMethod::Unanimous => Label::Plurality,
        },
    };
    Ok(Some(label))
}
