//! Token counts of vendors. An invalid count leads to an estimate, never to a failure: the answer
//! matters more than the bill.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

/// A number of tokens, if the vendor reported one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TokenCount {
    /// Not reported.
    #[default]
    Unsaid,
    Tokens(u64),
    /// Not a valid count.
    Odd,
}

/// More than any call uses.
const TOKENS_MAX: u64 = 1_000_000_000;

impl TokenCount {
    /// This count, or `before` if it was not reported.
    pub(super) fn or(self, before: Self) -> Self {
        if self == Self::Unsaid { before } else { self }
    }

    /// The sum; one of them may be missing.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Odd, _) | (_, Self::Odd) => Self::Odd,
            (Self::Unsaid, count) | (count, Self::Unsaid) => count,
            (Self::Tokens(one), Self::Tokens(other)) => Self::Tokens(one.saturating_add(other)),
        }
    }

    pub(super) fn tokens(self) -> Option<u64> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Unsaid | Self::Odd => None,
        }
    }
}

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Null => Self::Unsaid,
            value => value.as_u64().filter(|tokens| *tokens <= TOKENS_MAX).map_or(Self::Odd, Self::Tokens),
        })
    }
}

/// A group of counts, or none if something else is in its place.
pub(super) fn group<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.is_object().then(|| serde_json::from_value(value).ok()).flatten())
}
