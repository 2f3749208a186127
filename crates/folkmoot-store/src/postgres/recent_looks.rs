//! When this node last knew the whole log.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How many reads of the log are remembered. A follower further behind knows nothing.
const LOOKS: usize = 256;

/// The latest reads of the log, each with its end at that time. Followers apply a read a little
/// later; until then they know only the previous one, and are as old as that.
#[derive(Debug)]
pub(super) struct RecentLooks(Mutex<VecDeque<(u64, Instant)>>);

impl RecentLooks {
    pub(super) fn starting_at(end: u64, moment: Instant) -> Self {
        Self(Mutex::new(VecDeque::from([(end, moment)])))
    }

    /// Forgets reads of a log that is gone.
    pub(super) fn start_over(&self, end: u64, moment: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = VecDeque::from([(end, moment)]);
    }

    /// Records that the log ended here at this moment.
    pub(super) fn all(&self, end: u64, moment: Instant) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.back().is_some_and(|(last, _)| *last == end) {
            looks.pop_back();
        }
        looks.push_back((end, moment));
        let surplus = looks.len().saturating_sub(LOOKS);
        looks.drain(..surplus);
    }

    /// How long ago the log ended at `known`.
    pub(super) fn silence(&self, known: u64) -> Duration {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = looks.iter().rev().find(|(end, _)| *end <= known);
        last.map_or(Duration::MAX, |(_, moment)| moment.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3);

    /// A node that was paused reads first and follows later; in between it clears nobody.
    #[test]
    fn whoever_has_not_taken_what_was_found_is_as_old_as_what_they_took() {
        let long_ago = Instant::now().checked_sub(LONG).expect("the machine has run for longer");
        let heard = RecentLooks::starting_at(7, long_ago);
        heard.all(8, Instant::now());
        assert!(heard.silence(7) >= LONG, "the look that found 8 says nothing of one who knows 7");
        assert!(heard.silence(8) < LONG);
        assert!(heard.silence(9) < LONG, "what this node wrote itself it knows before it looks");
        assert_eq!(heard.silence(6), Duration::MAX);
    }

    #[test]
    fn a_log_that_does_not_grow_is_known_as_of_the_last_look() {
        let long_ago = Instant::now().checked_sub(LONG).expect("the machine has run for longer");
        let heard = RecentLooks::starting_at(7, long_ago);
        heard.all(7, Instant::now());
        assert!(heard.silence(7) < LONG);
    }

    #[test]
    fn only_so_many_looks_are_remembered() {
        let heard = RecentLooks::starting_at(0, Instant::now());
        (1..=LOOKS as u64).for_each(|end| heard.all(end, Instant::now()));
        assert_eq!(heard.silence(0), Duration::MAX);
        assert!(heard.silence(1) < LONG);
    }
}
