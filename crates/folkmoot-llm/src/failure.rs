//! Why a call failed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Spent;

/// A failed call. It says who failed and how, and never contains a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{provider}: {detail}")]
#[serde(deny_unknown_fields)]
pub struct ModelFailure {
    /// The provider, by its name in the configuration.
    pub provider: String,
    pub kind: FailureKind,
    /// What happened, and what to do.
    pub detail: String,
    /// How long the vendor asks us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The cost: a vendor charges for output that preceded the failure.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
}

folkmoot_core::vocabulary! {
    pub enum FailureKind {
        /// No connection: unknown name, refused, no route, TLS.
        Unreachable = "unreachable",
        TimedOut = "timed_out",
        /// The vendor limits our rate (429).
        RateLimited = "rate_limited",
        /// The account is empty (402 and similar).
        NoCredit = "no_credit",
        /// The vendor failed (5xx).
        Unavailable = "unavailable",
        /// The vendor rejects the key (401, 403).
        Unauthorised = "unauthorised",
        /// The vendor rejects the request (other 4xx).
        Refused = "refused",
        /// The answer broke off.
        Truncated = "truncated",
        /// The answer is not in the vendor's own format.
        Malformed = "malformed",
        TooLarge = "too_large",
        Empty = "empty",
        /// The vendor withheld the answer (content filter, refusal).
        Withheld = "withheld",
        /// The circuit breaker is open: it failed too often and is not called for a while.
        CircuitOpen = "circuit_open",
        /// The budget does not allow the call.
        BudgetExceeded = "budget_exceeded",
        /// The recording has no such call.
        NotRecorded = "not_recorded",
        Misconfigured = "misconfigured",
    }
}

impl FailureKind {
    /// Whether a retry within seconds may succeed.
    pub fn passes(self) -> bool {
        use FailureKind::*;
        match self {
            Unreachable | TimedOut | RateLimited | Unavailable | Truncated | Malformed | Empty => true,
            Unauthorised | NoCredit | Refused | TooLarge | Withheld | CircuitOpen | BudgetExceeded | NotRecorded
            | Misconfigured => false,
        }
    }

    /// Whether this is an outage: the provider is unreachable, limits us or wants to be paid. The
    /// same call may succeed minutes or hours later.
    pub fn is_outage(self) -> bool {
        use FailureKind::*;
        match self {
            Unreachable | TimedOut | RateLimited | NoCredit | Unavailable | CircuitOpen => true,
            Unauthorised | Refused | Truncated | Malformed | TooLarge | Empty | Withheld | BudgetExceeded
            | NotRecorded | Misconfigured => false,
        }
    }

    /// Whether a person must change the configuration before this provider can work.
    pub fn needs_person(self) -> bool {
        matches!(self, FailureKind::Unauthorised | FailureKind::Misconfigured)
    }

    /// Whether another provider may succeed. A spent budget affects all of them.
    pub fn is_the_providers(self) -> bool {
        !matches!(self, FailureKind::BudgetExceeded | FailureKind::NotRecorded)
    }
}

impl ModelFailure {
    pub fn new(provider: impl Into<String>, kind: FailureKind, detail: impl Into<String>) -> Self {
        Self { provider: provider.into(), kind, detail: detail.into(), retry_after_ms: None, spent: Spent::default() }
    }

    /// Sets the time that the vendor asks us to wait.
    pub fn after(self, wait: Option<Duration>) -> Self {
        let retry_after_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        Self { retry_after_ms, ..self }
    }
}
