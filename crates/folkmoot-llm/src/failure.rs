//! Why there is no answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Spent;

/// A call that gave no answer. It says who failed and how, and never contains a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{provider}: {detail}")]
#[serde(deny_unknown_fields)]
pub struct ModelFailure {
    /// Whose failure it is: the provider's name in the configuration.
    pub provider: String,
    /// What sort of failure.
    pub kind: FailureKind,
    /// What happened, and what to do.
    pub detail: String,
    /// How long the vendor wants to be left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What it took nevertheless: a vendor charges for what it has said before it failed.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

folkmoot_core::vocabulary! {
    /// The sorts of failure.
    pub enum FailureKind {
        /// Nobody was reached: no such name, refused, no route, TLS.
        Unreachable = "unreachable",
        /// It took longer than it may.
        TimedOut = "timed_out",
        /// The vendor has had enough of us for now (429).
        RateLimited = "rate_limited",
        /// The vendor wants to be paid first (402, or an empty account).
        NoCredit = "no_credit",
        /// The vendor failed (5xx).
        Unavailable = "unavailable",
        /// The vendor does not take the key (401, 403).
        Unauthorised = "unauthorised",
        /// The vendor does not take the request (other 4xx).
        Refused = "refused",
        /// The answer ended before its end.
        Truncated = "truncated",
        /// The answer is not in the vendor's own format.
        Malformed = "malformed",
        /// The answer is longer than it may be.
        TooLarge = "too_large",
        /// An answer without a word.
        Empty = "empty",
        /// The vendor withheld the answer (content filter, refusal).
        Withheld = "withheld",
        /// Its circuit is open: it failed so often that it is not asked for a while.
        CircuitOpen = "circuit_open",
        /// The budget does not allow the call.
        BudgetExceeded = "budget_exceeded",
        /// A replay has no such call.
        NotRecorded = "not_recorded",
        /// The configuration is not right.
        Misconfigured = "misconfigured",
    }
}

impl FailureKind {
    /// Whether the same call may succeed a moment later.
    pub fn passes(self) -> bool {
        use FailureKind::*;
        match self {
            Unreachable | TimedOut | RateLimited | Unavailable | Truncated | Malformed | Empty => true,
            Unauthorised | NoCredit | Refused | TooLarge | Withheld | CircuitOpen | BudgetExceeded | NotRecorded
            | Misconfigured => false,
        }
    }

    /// Whether the provider is away, limits us or wants to be paid: the same call may succeed
    /// minutes or hours later, and nothing is wrong with it.
    pub fn is_outage(self) -> bool {
        use FailureKind::*;
        match self {
            Unreachable | TimedOut | RateLimited | NoCredit | Unavailable | CircuitOpen => true,
            Unauthorised | Refused | Truncated | Malformed | TooLarge | Empty | Withheld | BudgetExceeded
            | NotRecorded | Misconfigured => false,
        }
    }

    /// Whether a person must change the configuration before any call of this provider can succeed.
    pub fn needs_person(self) -> bool {
        matches!(self, FailureKind::Unauthorised | FailureKind::Misconfigured)
    }

    /// Whether another provider may succeed where this one failed. A budget is spent wherever one
    /// asks.
    pub fn is_the_providers(self) -> bool {
        !matches!(self, FailureKind::BudgetExceeded | FailureKind::NotRecorded)
    }
}

impl ModelFailure {
    /// A failure of `provider`.
    pub fn new(provider: impl Into<String>, kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { provider: provider.into(), kind, detail: detail.into(), retry_after_ms: None, spent: Spent::default() }
    }

    /// The same, with what the vendor said about when to come back.
    pub fn after(self, wait: Option<Duration>) -> Self {
        let retry_after_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        Self { retry_after_ms, ..self }
    }
}
