//! Patterns that say which events a channel receives.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::is_told;
use crate::{Refusal, event::EventKind};

/// The longest pattern, in bytes.
const BYTES_MAX: usize = 64;

/// One type of event (`gate.opened`), all types of a noun (`gate.*`), or all types (`*`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Box<str>);

impl Pattern {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it covers events of this type.
    pub fn matches(&self, kind: &str) -> bool {
        match self.0.strip_suffix('*') {
            // The prefix includes the dot, so `gate.*` does not match `gateway.opened`.
            Some(beginning) => kind.starts_with(beginning),
            None => *self.0 == *kind,
        }
    }

    /// Refuses a pattern that matches no event that is ever delivered, because nobody would notice
    /// that nothing arrives. Events of workflows can have any noun that is not one of ours, so a
    /// noun that does not resemble ours is allowed. This is not part of parsing, so that patterns
    /// of older versions stay readable.
    pub fn check(&self) -> Result<(), Refusal> {
        let mut told = EventKind::WORDS.iter().copied().filter(|kind| is_told(kind));
        let noun = self.0.split('.').next().unwrap_or_default();
        if told.clone().any(|kind| self.matches(kind)) || !EventKind::nouns().any(|ours| is_nearly(noun, ours)) {
            return Ok(());
        }
        let first = told.next().unwrap_or_default();
        let told = told.fold(first.to_owned(), |all, kind| all + ", " + kind);
        Err(Refusal::invalid(
            "events",
            format!("has {self}, and nobody is ever told such a thing; there are {told}; `gate.*` is all of gates"),
        ))
    }
}

/// Whether two words are equal or differ in one letter: it is another, missing, added, or swapped
/// with its neighbour.
fn is_nearly(word: &str, other: &str) -> bool {
    let (a, b) = (word.as_bytes(), other.as_bytes());
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let swapped = matches!((a, b), ([a0, a1, a @ ..], [b0, b1, b @ ..]) if a0 == b1 && a1 == b0 && a == b);
    let after = |word: &'_ [u8]| word.get(1..).unwrap_or_default().to_vec();
    swapped || after(a) == after(b) || after(a) == b || a == after(b)
}

impl FromStr for Pattern {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let word = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        let noun_verb = |(noun, verb): (&str, &str)| word(noun) && (verb == "*" || word(verb));
        let fits = text.len() <= BYTES_MAX && (text == "*" || text.split_once('.').is_some_and(noun_verb));
        if fits {
            return Ok(Self(text.into()));
        }
        let text: String = text.chars().take(BYTES_MAX).collect();
        Err(Refusal::invalid("events", format!("{text:?} is no type of events; write `gate.opened`, `gate.*` or `*`")))
    }
}

impl TryFrom<String> for Pattern {
    type Error = Refusal;
    fn try_from(text: String) -> Result<Self, Refusal> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.0.into()
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
