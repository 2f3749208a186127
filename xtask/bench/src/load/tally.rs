//! Counts what finishes inside the window, and its duration.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::{Found, Window};

#[derive(Debug)]
pub(crate) struct Tally {
    begins: Instant,
    ends: Instant,
    took: Vec<Duration>,
}

impl Tally {
    pub(crate) fn new(now: Instant, window: Window) -> Self {
        let begins = now + window.warm_up;
        Self { begins, ends: begins + window.measured, took: Vec::new() }
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.ends
    }

    /// Counts something that began then and is finished now.
    pub(crate) fn finished(&mut self, began: Instant) {
        let now = Instant::now();
        if now >= self.begins && now < self.ends {
            self.took.push(now - began);
        }
    }

    pub(crate) fn found(self) -> Found {
        summarise(self.took, self.ends - self.begins)
    }
}

/// Runs concurrent clients over one window. The first error is the result.
pub(super) async fn together<F>(clients: usize, window: Window, client: impl Fn(usize, Tally) -> F) -> Result<Found>
where
    F: Future<Output = Result<Tally>> + Send + 'static,
{
    let now = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..clients {
        running.spawn(client(number, Tally::new(now, window)));
    }
    let mut all = Tally::new(now, window);
    while let Some(ended) = running.join_next().await {
        all.took.extend(ended.context("a client panicked")??.took);
    }
    Ok(all.found())
}

pub(crate) fn summarise(mut took: Vec<Duration>, over: Duration) -> Found {
    took.sort_unstable();
    let at = |share: f64| {
        let index = (took.len() as f64 * share) as usize;
        let found = took.get(index.min(took.len().saturating_sub(1)));
        found.map_or(0.0, |took| took.as_secs_f64() * 1e6)
    };
    Found { count: took.len(), per_second: took.len() as f64 / over.as_secs_f64(), p50_us: at(0.50), p99_us: at(0.99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_the_sorted_times() {
        let took = (1..=100).rev().map(Duration::from_micros).collect();
        let found = summarise(took, Duration::from_secs(2));
        assert_eq!((found.count, found.per_second), (100, 50.0));
        assert_eq!((found.p50_us.round(), found.p99_us.round()), (51.0, 100.0));
    }

    #[test]
    fn what_is_finished_outside_the_window_does_not_count() {
        let window = Window { warm_up: Duration::from_secs(60), measured: Duration::from_secs(60) };
        let now = Instant::now();
        let mut tally = Tally::new(now, window);
        tally.finished(now);
        assert_eq!(tally.found().count, 0);
    }
}
