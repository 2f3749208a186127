//! The only place that reads the system's clock.

use std::{
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use folkmoot_core::Timestamp;

/// The clock that judging uses.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    fn now(&self) -> Timestamp;

    /// The clock must not go back before this moment.
    fn not_before(&self, _moment: Timestamp) {}
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
    fn now(&self) -> Timestamp {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The machine's clock, which somebody may set back. Then time continues, a tenth slower, until
/// that clock has caught up. So overdue deadlines stay overdue, and no event is older than the one
/// before it.
#[derive(Debug, Default)]
pub struct SteadyClock(Mutex<Option<ClockReading>>);

#[derive(Clone, Copy, Debug)]
struct ClockReading {
    read_at: Instant,
    moment: Timestamp,
}

/// A clock that is further behind was wrong before, not set back.
const SET_BACK_MAX: Duration = Duration::from_secs(24 * 60 * 60);

impl ClockReading {
    /// The next reading, given the machine's clock.
    fn next(last: Option<Self>, read_at: Instant, clock: Timestamp) -> Self {
        let least = last.map(|last| last.moment.plus(read_at.saturating_duration_since(last.read_at) / 10 * 9));
        Self { read_at, moment: least.map_or(clock, |least| clock.max(least)) }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = ClockReading::next(*last, Instant::now(), SystemClock.now());
        *last = Some(next);
        next.moment
    }

    fn not_before(&self, moment: Timestamp) {
        let behind = moment.since(SystemClock.now());
        if behind > SET_BACK_MAX {
            tracing::warn!(?behind, "the clock is far behind the last event of the log; is it right?");
            return;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(ClockReading { read_at: Instant::now(), moment });
    }
}

/// A clock that moves only on request, for tests and simulations.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.as_micros()))
    }

    pub fn advance(&self, span: Duration) {
        let micros = i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::{ClockReading, Duration, Instant, Timestamp};

    #[test]
    fn time_goes_on_slowly_while_a_clock_that_was_set_back_catches_up() {
        let begun = Instant::now();
        let second = |n: i64| Timestamp::from_micros(n * 1_000_000);
        let mut last = None;
        // Of the machine: how long it has run, what its clock says. What is read.
        for (runs, clock, read) in
            [(0, 1_000, 1_000), (10, 1_010, 1_010), (20, 720, 1_019), (30, 730, 1_028), (400, 1_400, 1_400)]
        {
            let next = ClockReading::next(last, begun + Duration::from_secs(runs), second(clock));
            assert_eq!(next.moment, second(read), "after {runs} s");
            last = Some(next);
        }
    }
}
