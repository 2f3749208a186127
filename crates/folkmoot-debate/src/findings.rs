//! What the red team found: which of it is new, and how much of a risk is left.
//!
//! A report that could not be read is never "nothing found". What was found before, in other words,
//! is not found anew.

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
    /// What sort of thing it is, in the red team's word.
    pub category: String,
    /// How bad it is.
    pub severity: Severity,
    /// In one line.
    pub title: String,
    /// How it comes about, and what follows.
    #[serde(default)]
    pub detail: String,
    /// The test that shows it, by [`test_digest`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Digest>,
}

vocabulary! {
    /// How bad a finding is.
    pub enum Severity {
        /// Everything is lost.
        Critical = "critical",
        /// Much is.
        High = "high",
        /// Something is.
        Medium = "medium",
        /// It is not nice.
        Low = "low",
    }
}

impl Severity {
    /// How much of a risk one such finding is.
    pub const fn weight(self) -> Share {
        match self {
            Severity::Critical => Share::ONE,
            Severity::High => Share::of(70),
            Severity::Medium => Share::of(40),
            Severity::Low => Share::of(20),
        }
    }
}

/// Alike from here on, two titles of one category are one finding.
const SAME: Share = Share::of(80);

impl Finding {
    /// Whether there is a letter or a digit in it: what says nothing breaks nothing.
    pub fn says_something(&self) -> bool {
        self.title.chars().chain(self.detail.chars()).any(char::is_alphanumeric)
    }

    /// Whether two findings are one. Where both have a test, by their tests; else by category and
    /// the words of their titles, of which at least four of five are in both.
    pub fn is_the_same(&self, other: &Finding) -> bool {
        if let (Some(one), Some(two)) = (self.test, other.test) {
            return one == two;
        }
        let titles = (words(&self.title, 0), words(&other.title, 0));
        words(&self.category, 0) == words(&other.category, 0)
            && (alike(&titles.0, &titles.1) >= SAME || self.title.trim() == other.title.trim())
    }
}

/// A test's digest, the same however it is indented at the end of lines and whatever empty lines it
/// has.
pub fn test_digest(code: &str) -> Digest {
    let lines: Vec<&str> = code.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    Digest::of(lines.join("\n").as_bytes())
}

/// What one member of the red team reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedTeamReport {
    /// What it found, which may be nothing.
    Found(Vec<Finding>),
    /// It could not be read, or did not come.
    Unread,
}

/// What one attack came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attack {
    /// What nobody had found before, each once.
    pub new: Vec<Finding>,
    /// What was found again.
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
        /// Nothing new was read, but not all reports were.
        Unknown = "unknown",
    }
}

impl Attack {
    /// Compares reports with all that was found in earlier attacks.
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

    /// What can be said of it. Without any report nothing can.
    pub fn verdict(&self) -> AttackOutcome {
        match self {
            Attack { new, .. } if !new.is_empty() => AttackOutcome::Found,
            Attack { read: 1.., unread: 0, .. } => AttackOutcome::NothingNew,
            Attack { .. } => AttackOutcome::Unknown,
        }
    }
}

/// How likely it is that one of the findings that stand does harm, were each to do so with its
/// weight, independently: 1 less the product of what each leaves. Rounded up: no risk is
/// understated.
pub fn risk<'a>(standing: impl IntoIterator<Item = &'a Finding>) -> Share {
    let mut weights: Vec<u8> = standing.into_iter().map(|finding| finding.severity.weight().as_hundredths()).collect();
    // So that rounding does not depend on who was first to find something.
    weights.sort_unstable();
    const WHOLE: u64 = 1_000_000_000_000;
    let left = weights.iter().fold(WHOLE, |left, weight| left * u64::from(100 - weight.min(&100)) / 100);
    let safe = Share::part(left, WHOLE).unwrap_or(Share::ZERO).as_hundredths();
    Share::hundredths(100 - safe).unwrap_or(Share::ONE)
}
