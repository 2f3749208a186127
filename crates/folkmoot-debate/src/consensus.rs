//! How far the answers of a phase agree, and how a decision is labelled.
//!
//! The level of a consensus is the weighted mean of three parts: 0.4 for the mean confidence of
//! those who answered, 0.4 for how far their votes agree, and 0.2 for how many words their answers
//! share. A missing part has no weight, and [`Consensus`] shows which parts there were: without
//! votes nobody agreed by vote, and an agent that failed or whose answer could not be read has said
//! nothing.

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

/// The result of asking one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contribution<'a> {
    /// An answer that could be read.
    Answer {
        text: &'a str,
        /// The author's confidence, if it stated one.
        confidence: Option<Share>,
    },
    /// No answer came.
    Failed,
    /// An answer came but could not be read.
    Unparsed,
}

/// How far the agents that answered agree. A part without data is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consensus {
    /// All parts together; `None` if nobody answered or there is no part.
    pub level: Option<Share>,
    /// The mean confidence of those who stated one.
    pub confidence: Option<Share>,
    /// The share of all votes that the candidate with the most votes has.
    pub agreement: Option<Share>,
    /// The share of words that occur in more than one answer, of all words with more than three
    /// characters; `None` for fewer than two answers.
    pub overlap: Option<Share>,
    /// How many answered.
    pub answers: u32,
    /// How many failed or could not be read. They count in no part.
    pub lost: u32,
    /// How many voted.
    pub votes: u32,
}

impl Consensus {
    /// The consensus of these contributions and first choices. If nobody answered, the level is
    /// `None`, whatever the votes are.
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

    /// Whether it is enough to stop. It never is if nobody voted: being confident is not agreeing.
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

/// Whether two answers say the same. Ignores case, white space, quotation marks, emphasis and
/// brackets around words, punctuation at the end, and the form of numbers (`1,000.50` is `1000.5`).
/// An empty answer equals no answer. When in doubt, the answers differ: asking once more costs less
/// than mistaking a disagreement for an agreement.
pub fn same_answer(one: &str, two: &str) -> bool {
    let one = normalised(one);
    !one.is_empty() && one == normalised(two)
}

fn normalised(answer: &str) -> Vec<String> {
    let tokens = bare(answer).split_whitespace().map(bare).filter(|token| !token.is_empty());
    tokens.map(|token| number(token).unwrap_or_else(|| token.to_lowercase())).collect()
}

/// Strips enclosing marks and closing punctuation.
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
        // `5!` is another number than `5`, so the mark stays after a digit.
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

/// The shortest form of a decimal number: no plus, no leading or trailing zeros, no commas between
/// thousands. `None` if the token is not such a number.
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
    /// What a decision rests on.
    pub enum Label {
        /// Every ballot has the winner first.
        Unanimous = "unanimous",
        /// More than half of the ballots have the winner first.
        Majority = "majority",
        /// The winner has the most weight behind it.
        WeightedVoting = "weighted_voting",
        /// The winner has the most first places.
        Plurality = "plurality",
        /// The winner has the best mean place.
        Borda = "borda",
        /// The winner beats every other candidate head to head.
        Condorcet = "condorcet",
        /// The winner has the strongest chains of head-to-head victories.
        Schulze = "schulze",
        /// The winner follows from the greatest head-to-head victories.
        RankedPairs = "ranked_pairs",
    }
}

/// The label of a decision: how many ballots have the winner first, else the method that decided.
/// `None` if nothing was decided, so there is never a label without votes.
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
            // The winner by the latter two has more than half of the ballots, and got its label
            // above.
            VotingMethod::Plurality | VotingMethod::Majority | VotingMethod::Unanimous => Label::Plurality,
        },
    };
    Ok(Some(label))
}
