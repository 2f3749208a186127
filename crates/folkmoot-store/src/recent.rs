//! The newest events in memory, so that followers need not read what was just written.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_core::{Digest, Event, Head};
use tokio::sync::{Notify, watch};

use crate::Error;

/// How many events are kept.
const KEPT: usize = 2048;

/// The end of the log as this node knows it. It grows without gaps, each event on the hash of the
/// previous one, until the database turns out to have another log: then [`Recent::start_over`]
/// begins a new epoch.
#[derive(Debug)]
pub(crate) struct Recent {
    known: Mutex<RecentState>,
    grown: Notify,
    epoch: watch::Sender<u64>,
}

#[derive(Debug)]
struct RecentState {
    head: Head,
    events: VecDeque<Arc<Event>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfferResult {
    /// They are known now.
    Taken,
    /// Earlier events are missing, so they were not taken.
    Gap,
    /// They belong to another log, so they were not taken.
    OfAnotherLog,
}

pub(crate) enum EventsAfter {
    Events(Vec<Arc<Event>>),
    /// There are some, but they must be read from the database.
    Forgotten,
    Nothing,
}

impl Recent {
    pub(crate) fn starting_at(head: Head) -> Self {
        let known = Mutex::new(RecentState { head, events: VecDeque::new() });
        Self { known, grown: Notify::new(), epoch: watch::Sender::new(0) }
    }

    /// Takes committed events. Known ones are skipped.
    pub(crate) fn offer(&self, events: &[Arc<Event>]) -> OfferResult {
        match self.look(|known| known.take(events)) {
            TakeResult::Grown => {
                self.grown.notify_waiters();
                OfferResult::Taken
            }
            TakeResult::Nothing => OfferResult::Taken,
            TakeResult::Gap => OfferResult::Gap,
            TakeResult::OfAnotherLog => OfferResult::OfAnotherLog,
        }
    }

    /// Forgets everything, because the database has lost it; `head` is the end of its log.
    pub(crate) fn start_over(&self, head: Head) {
        self.look(|known| {
            *known = RecentState { head, events: VecDeque::new() };
            // Under the lock, so that a follower that gets an event of the new log also sees the
            // new epoch.
            self.epoch.send_modify(|epoch| *epoch += 1);
        });
        self.grown.notify_waiters();
    }

    /// Changes when the database turns out to have another log.
    pub(crate) fn epoch(&self) -> watch::Receiver<u64> {
        self.epoch.subscribe()
    }

    pub(crate) fn last(&self) -> u64 {
        self.head().position
    }

    pub(crate) fn head(&self) -> Head {
        self.look(|known| known.head)
    }

    pub(crate) fn after(&self, position: u64) -> EventsAfter {
        self.look(|known| known.after(position))
    }

    /// Waits until there are events after `position`.
    pub(crate) async fn grown_past(&self, position: u64) {
        loop {
            let grown = self.grown.notified();
            tokio::pin!(grown);
            // Registered before checking, so that growth between the check and the wait is not
            // missed.
            grown.as_mut().enable();
            if self.last() > position {
                return;
            }
            grown.await;
        }
    }

    fn look<T>(&self, look: impl FnOnce(&mut RecentState) -> T) -> T {
        switch();
        let found = look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
        switch();
        found
    }
}

/// In tests, another task may run here.
#[cfg(not(test))]
fn switch() {}
#[cfg(test)]
use tests::switch;

enum TakeResult {
    Grown,
    Nothing,
    Gap,
    OfAnotherLog,
}

impl RecentState {
    fn take(&mut self, events: &[Arc<Event>]) -> TakeResult {
        let (old, new): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.position <= self.head.position);
        if old.into_iter().any(|event| self.hash_at(event.position).is_some_and(|known| known != event.hash)) {
            return TakeResult::OfAnotherLog;
        }
        let (Some(first), Some(last)) = (new.first(), new.last()) else { return TakeResult::Nothing };
        if first.position != self.head.position + 1 {
            return TakeResult::Gap;
        }
        if first.prev_hash != self.head.hash {
            return TakeResult::OfAnotherLog;
        }
        self.head = Head { position: last.position, hash: last.hash };
        self.events.extend(new.into_iter().cloned());
        let surplus = self.events.len().saturating_sub(KEPT);
        self.events.drain(..surplus);
        TakeResult::Grown
    }

    /// The hash of the event at this position, if it is kept.
    fn hash_at(&self, position: u64) -> Option<Digest> {
        match usize::try_from(self.head.position.checked_sub(position)?).ok()? {
            0 => Some(self.head.hash),
            back => Some(self.events.get(self.events.len().checked_sub(back + 1)?)?.hash),
        }
    }

    fn after(&self, position: u64) -> EventsAfter {
        if self.head.position <= position {
            return EventsAfter::Nothing;
        }
        let missing = self.head.position - position;
        match self.events.len().checked_sub(usize::try_from(missing).unwrap_or(usize::MAX)) {
            Some(first) => EventsAfter::Events(self.events.range(first..).cloned().collect()),
            None => EventsAfter::Forgotten,
        }
    }
}

/// The events read by a follower that had fallen behind.
pub(crate) fn caught_up(events: Vec<Event>) -> Result<Vec<Arc<Event>>, Error> {
    if events.is_empty() {
        return Err(Error::Unreadable("the log ends before its head: its tail is missing".to_owned()));
    }
    Ok(events.into_iter().map(Arc::new).collect())
}
