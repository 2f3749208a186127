//! Which events somebody wants to hear of.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// The longest that can be, in bytes.
const BYTES_MAX: usize = 64;

/// One type of event (`gate.opened`), all of a noun (`gate.*`), or all there are (`*`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(Box<str>);

impl Pattern {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it means events of this type.
    pub fn matches(&self, kind: &str) -> bool {
        match self.0.strip_suffix('*') {
            // With the dot: `gate.*` is not about `gateway.opened`.
            Some(beginning) => kind.starts_with(beginning),
            None => *self.0 == *kind,
        }
    }
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
