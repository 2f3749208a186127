//! The findings of the red team: which of them are new, and how much risk remains.
//!
//! A report that could not be read never counts as "nothing found". A finding that was made before
//! in other words is not new.

use folkmoot_core::{Digest, vocabulary};
use serde::{Deserialize, Serialize};

use super::words::{alike, words};
use crate::agent::Share;

#[cfg(test)]
mod tests;

/// Something that is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The kind of fault, in the red team's own word.
    pub category: String,
    pub severity: Severity,
    /// In one line.
    pub title: String,
    /// How it happens, and what follows from it.
    #[serde(default)]
    pub detail: String,
    /// The [`test_digest`] of the test that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Digest>,
}

vocabulary! {
    /// How bad a finding is.
    pub enum Severity {
        /// Total loss.
        Critical = "critical",
        /// Great damage.
        High = "high",
        /// Some damage.
        Medium = "medium",
        /// A nuisance.
        Low = "low",
    }
}

impl Severity {
    /// The probability that one such finding does harm; see [`risk`].
    pub const fn weight(self) -> Share {
        match self {
            Severity::Critical => Share::ONE,
            Severity::High => Share::of(70),
            Severity::Medium => Share::of(40),
            Severity::Low => Share::of(20),
        }
    }
}

/// Two titles of the same category that are at least this alike are one finding.
const SAME: Share = Share::of(80);

impl Finding {
    /// Whether its title or detail contains a letter or a digit. A finding without words breaks
    /// nothing.
    pub fn says_something(&self) -> bool {
        self.title.chars().chain(self.detail.chars()).any(char::is_alphanumeric)
    }

    /// Whether two findings are the same. If both have a test, the tests decide. Otherwise the
    /// categories must have the same words, and the titles must be equal or share at least four of
    /// five words.
    pub fn is_the_same(&self, other: &Finding) -> bool {
        if let (Some(one), Some(two)) = (self.test, other.test) {
            return one == two;
        }
        let titles = (words(&self.title, 0), words(&other.title, 0));
        words(&self.category, 0) == words(&other.category, 0)
            && (alike(&titles.0, &titles.1) >= SAME || self.title.trim() == other.title.trim())
    }
}

/// The digest of a test. It ignores white space at the end of lines, and empty lines.
pub fn test_digest(code: &str) -> Digest {
    let lines: Vec<&str> = code.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    Digest::of(lines.join("\n").as_bytes())
}

/// What one member of the red team reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedTeamReport {
    /// The findings; the list may be empty.
    Found(Vec<Finding>),
    /// The report could not be read, or did not arrive.
    Unread,
}

/// The result of one attack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attack {
    /// Findings that nobody had made before, each once.
    pub new: Vec<Finding>,
    /// Findings that had been made before.
    pub repeated: Vec<Finding>,
    /// How many reports could be read.
    pub read: u32,
    /// How many could not.
    pub unread: u32,
}

vocabulary! {
    /// Whether an attack found anything.
    pub enum AttackOutcome {
        /// Something new was found.
        Found = "found",
        /// All reports were read, and nothing in them is new.
        NothingNew = "nothing_new",
        /// Nothing new is in the reports that were read, but some could not be read, or there were
        /// none.
        Unknown = "unknown",
    }
}

impl Attack {
    /// Compares reports with the findings of earlier attacks.
    pub fn of(known: &[Finding], reports: Vec<RedTeamReport>) -> Self {
        let mut attack = Self { new: Vec::new(), repeated: Vec::new(), read: 0, unread: 0 };
        for report in reports {
            let RedTeamReport::Found(findings) = report else {
                attack.unread += 1;
                continue;
            };
            attack.read += 1;
            for finding in findings {
                let before = known.iter().chain(&attack.new).any(|other| other.is_the_same(&finding));
                if before { attack.repeated.push(finding) } else { attack.new.push(finding) }
            }
        }
        attack
    }

    /// The outcome. It is unknown if there is no report.
    pub fn verdict(&self) -> AttackOutcome {
        match self {
            Attack { new, .. } if !new.is_empty() => AttackOutcome::Found,
            Attack { read: 1.., unread: 0, .. } => AttackOutcome::NothingNew,
            Attack { .. } => AttackOutcome::Unknown,
        }
    }
}

/// The probability that at least one of the standing findings does harm, if each does so
/// independently with the probability of its weight. It is 1 minus the product of 1 minus each
/// weight, rounded up so that no risk is understated.
pub fn risk<'a>(standing: impl IntoIterator<Item = &'a Finding>) -> Share {
    let mut weights: Vec<u8> = standing.into_iter().map(|finding| finding.severity.weight().as_hundredths()).collect();
    // Sorted, so that rounding does not depend on the order in which the findings were made.
    weights.sort_unstable();
    const WHOLE: u64 = 1_000_000_000_000;
    let left = weights.iter().fold(WHOLE, |left, weight| left * u64::from(100 - weight.min(&100)) / 100);
    let safe = Share::part(left, WHOLE).unwrap_or(Share::ZERO).as_hundredths();
    Share::hundredths(100 - safe).unwrap_or(Share::ONE)
}
