//! A circuit breaker: a provider that keeps failing is not called for a while.
//!
//! ```text
//! closed ── so many failures in a row ──▶ open ── after a while ──▶ one call may try
//!    ▲                                      ▲                           │
//!    └───────────── it succeeded ───────────┼───────────────────────────┤
//!                                           └──────── it failed ────────┘
//! ```

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

#[cfg(test)]
mod tests;

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
    /// A call is testing whether the provider works again.
    trying: bool,
}

impl Breaker {
    /// Opens after `failures_max` failures in a row, and stays open for `rest`.
    pub(crate) fn new(failures_max: u32, rest: Duration) -> Self {
        Self { failures_max, rest, state: Mutex::default() }
    }

    /// A permit for one call, or the time until one may try.
    pub(crate) fn pass(&self) -> Result<BreakerPermit<'_>, Duration> {
        let mut state = self.state.lock();
        let Some(until) = state.open_until else {
            return Ok(BreakerPermit { breaker: self, trying: false, told: false });
        };
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Err(left);
        }
        if state.trying {
            // The result of the test call will be known soon; a second is a guess.
            return Err(Duration::from_secs(1));
        }
        state.trying = true;
        Ok(BreakerPermit { breaker: self, trying: true, told: false })
    }
}

/// A call that the breaker allowed. Dropped without a result, it changes nothing.
#[derive(Debug)]
pub(crate) struct BreakerPermit<'a> {
    breaker: &'a Breaker,
    trying: bool,
    told: bool,
}

impl BreakerPermit<'_> {
    /// The provider answered, even if it refused.
    pub(crate) fn answered(mut self) {
        *self.breaker.state.lock() = BreakerState::default();
        self.told = true;
    }

    pub(crate) fn failed(mut self) {
        let mut state = self.breaker.state.lock();
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
            self.breaker.state.lock().trying = false;
        }
    }
}
