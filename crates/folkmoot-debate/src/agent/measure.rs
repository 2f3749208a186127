//! Measures of agents, stored as integers. Values that look equal are equal, and a sum does not
//! depend on the order of its terms.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// A number from 0 to 1, in hundredths. Serialized as an integer, because the log can hash no other
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Share(u8);

/// A number from 0 to 10, in tenths. Serialized as an integer, because the log can hash no other
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Score(u8);

/// A measure outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} is out of range: {what} is a whole number of {unit} from 0 to 100")]
pub struct OutOfRange {
    what: &'static str,
    unit: &'static str,
    given: u8,
}

impl Share {
    pub const ZERO: Share = Share(0);
    pub const ONE: Share = Share(100);
    /// The default expertise of an agent: 0.7.
    pub const EXPERTISE: Share = Share(70);
    /// The default confidence of an agent: 0.5.
    pub const CONFIDENCE: Share = Share(50);

    /// Refuses more than 100 hundredths.
    pub const fn hundredths(hundredths: u8) -> Result<Self, OutOfRange> {
        if hundredths > 100 {
            return Err(OutOfRange { what: "a share", unit: "hundredths", given: hundredths });
        }
        Ok(Self(hundredths))
    }

    /// For the tables of this crate: a constant that is out of range does not compile.
    pub(crate) const fn of(hundredths: u8) -> Self {
        assert!(hundredths <= 100, "a share is at most 1");
        Self(hundredths)
    }

    /// `part` divided by `whole`, at most [`Share::ONE`]; `None` if `whole` is 0. Rounded down, so
    /// that the share reaches a threshold exactly when the fraction does, and is [`Share::ONE`]
    /// only if nothing is missing.
    pub fn part(part: u64, whole: u64) -> Option<Self> {
        let hundredths = (u128::from(part) * 100).checked_div(u128::from(whole))?;
        Some(Self(u8::try_from(hundredths.min(100)).unwrap_or(100)))
    }

    pub const fn as_hundredths(self) -> u8 {
        self.0
    }
}

impl Score {
    /// Refuses more than 100 tenths.
    pub const fn tenths(tenths: u8) -> Result<Self, OutOfRange> {
        if tenths > 100 {
            return Err(OutOfRange { what: "a score", unit: "tenths", given: tenths });
        }
        Ok(Self(tenths))
    }

    pub const fn as_tenths(self) -> u8 {
        self.0
    }
}

/// The score of an agent that nobody has judged yet: 7.0.
impl Default for Score {
    fn default() -> Self {
        Self(70)
    }
}

impl TryFrom<u8> for Share {
    type Error = OutOfRange;
    fn try_from(hundredths: u8) -> Result<Self, OutOfRange> {
        Self::hundredths(hundredths)
    }
}

impl From<Share> for u8 {
    fn from(share: Share) -> u8 {
        share.0
    }
}

impl TryFrom<u8> for Score {
    type Error = OutOfRange;
    fn try_from(tenths: u8) -> Result<Self, OutOfRange> {
        Self::tenths(tenths)
    }
}

impl From<Score> for u8 {
    fn from(score: Score) -> u8 {
        score.0
    }
}

/// As people write it: `0.70`.
impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// As people write it: `7.0`.
impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0 / 10, self.0 % 10)
    }
}
