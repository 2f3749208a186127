//! A circuit breaker: whoever keeps failing is left alone for a while.
//!
//! ```text
//! closed ── so many failures in a row ──▶ open ── after a while ──▶ one call may try
//!    ▲                                      ▲                           │
//!    └───────────── it succeeded ───────────┼───────────────────────────┤
//!                                           └──────── it failed ────────┘
//! ```

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// One provider's breaker.
#[derive(Debug)]
pub(crate) struct Breaker {
    failures_max: u32,
    rest: Duration,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    open_until: Option<Instant>,
    /// Somebody tries whether it works again.
    trying: bool,
}

impl Breaker {
    /// Opens after so many failures in a row, and stays open for `rest`.
    pub(crate) fn new(failures_max: u32, rest: Duration) -> Self {
        Self { failures_max, rest, state: Mutex::default() }
    }

    /// A pass for one call, or how long until one may try.
    pub(crate) fn pass(&self) -> Result<BreakerPermit<'_>, Duration> {
        let mut state = self.state();
        let Some(until) = state.open_until else {
            return Ok(BreakerPermit { breaker: self, trying: false, told: false });
        };
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Err(left);
        }
        if state.trying {
            // Whoever tries will know soon; a second is a guess that nobody depends on.
            return Err(Duration::from_secs(1));
        }
        state.trying = true;
        Ok(BreakerPermit { breaker: self, trying: true, told: false })
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that the breaker let through. Dropped without a result, it changes nothing.
#[derive(Debug)]
pub(crate) struct BreakerPermit<'a> {
    breaker: &'a Breaker,
    trying: bool,
    told: bool,
}

impl BreakerPermit<'_> {
    /// The provider answered, if only to say no.
    pub(crate) fn answered(mut self) {
        *self.breaker.state() = BreakerState::default();
        self.told = true;
    }

    /// The provider failed.
    pub(crate) fn failed(mut self) {
        let mut state = self.breaker.state();
        state.failures = state.failures.saturating_add(1);
        state.trying &= !self.trying;
        if self.trying || state.failures >= self.breaker.failures_max {
            state.open_until = Some(Instant::now() + self.breaker.rest);
        }
        drop(state);
        self.told = true;
    }
}

impl Drop for BreakerPermit<'_> {
    fn drop(&mut self) {
        if self.trying && !self.told {
            self.breaker.state().trying = false;
        }
    }
}
