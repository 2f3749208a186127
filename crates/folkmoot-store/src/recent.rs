//! The newest events, kept in memory so that those who follow the log do not read what was just written.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_core::Event;
use tokio::sync::Notify;

use crate::Error;

/// How many events are kept.
const KEPT: usize = 2048;

/// The end of the log as this node knows it. It only ever grows, without a gap.
#[derive(Debug)]
pub(crate) struct Recent {
    known: Mutex<Known>,
    grown: Notify,
}

#[derive(Debug)]
struct Known {
    last: u64,
    events: VecDeque<Arc<Event>>,
}

/// What [`Recent::after`] knows.
pub(crate) enum After {
    /// These come next.
    Events(Vec<Arc<Event>>),
    /// There are some, but they must be read.
    Forgotten,
    /// There are none.
    Nothing,
}

impl Recent {
    pub(crate) fn starting_at(last: u64) -> Self {
        Self { known: Mutex::new(Known { last, events: VecDeque::new() }), grown: Notify::new() }
    }

    /// Takes events that were committed. What is already known is skipped; `false` means that some are missing before
    /// these, which were therefore not taken.
    pub(crate) fn offer(&self, events: &[Arc<Event>]) -> bool {
        let taken = self.look(|known| known.take(events));
        if taken == Taken::Grown {
            self.grown.notify_waiters();
        }
        taken != Taken::Gap
    }

    /// The position of the last event that is known.
    pub(crate) fn last(&self) -> u64 {
        self.look(|known| known.last)
    }

    pub(crate) fn after(&self, position: u64) -> After {
        self.look(|known| known.after(position))
    }

    /// Waits until there are events after `position`.
    pub(crate) async fn grown_past(&self, position: u64) {
        loop {
            let grown = self.grown.notified();
            tokio::pin!(grown);
            // Registered before looking, so that growth between the look and the wait is not missed.
            grown.as_mut().enable();
            if self.last() > position {
                return;
            }
            grown.await;
        }
    }

    fn look<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        switch();
        let found = look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner));
        switch();
        found
    }
}

/// In tests, another task may be next here.
#[cfg(not(test))]
fn switch() {}
#[cfg(test)]
use tests::switch;

#[derive(PartialEq)]
enum Taken {
    Grown,
    Nothing,
    Gap,
}

impl Known {
    fn take(&mut self, events: &[Arc<Event>]) -> Taken {
        let new = events.iter().filter(|event| event.position > self.last).cloned().collect::<Vec<_>>();
        match new.first() {
            None => return Taken::Nothing,
            Some(first) if first.position != self.last + 1 => return Taken::Gap,
            Some(_) => {}
        }
        self.last += new.len() as u64;
        self.events.extend(new);
        let surplus = self.events.len().saturating_sub(KEPT);
        self.events.drain(..surplus);
        Taken::Grown
    }

    fn after(&self, position: u64) -> After {
        if self.last <= position {
            return After::Nothing;
        }
        let missing = self.last - position;
        match self.events.len().checked_sub(usize::try_from(missing).unwrap_or(usize::MAX)) {
            Some(first) => After::Events(self.events.range(first..).cloned().collect()),
            None => After::Forgotten,
        }
    }
}

/// What was read by somebody who had fallen behind a log that goes on.
pub(crate) fn caught_up(events: Vec<Event>) -> Result<Vec<Arc<Event>>, Error> {
    if events.is_empty() {
        return Err(Error::Unreadable("the log ends before its head: its tail is missing".to_owned()));
    }
    Ok(events.into_iter().map(Arc::new).collect())
}
