//! The newest events, kept in memory so that those who follow the log do not read what was just written.

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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let new = events.iter().filter(|event| event.position > known.last).cloned().collect::<Vec<_>>();
        match new.first() {
            None => return true,
            Some(first) if first.position != known.last + 1 => return false,
            Some(_) => {}
        }
        known.last += new.len() as u64;
        known.events.extend(new);
        let surplus = known.events.len().saturating_sub(KEPT);
        known.events.drain(..surplus);
        drop(known);
        self.grown.notify_waiters();
        true
    }

    /// The position of the last event that is known.
    pub(crate) fn last(&self) -> u64 {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).last
    }

    pub(crate) fn after(&self, position: u64) -> After {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.last <= position {
            return After::Nothing;
        }
        let missing = known.last - position;
        match known.events.len().checked_sub(usize::try_from(missing).unwrap_or(usize::MAX)) {
            Some(first) => After::Events(known.events.range(first..).cloned().collect()),
            None => After::Forgotten,
        }
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
}

/// What was read by somebody who had fallen behind a log that goes on.
pub(crate) fn caught_up(events: Vec<Event>) -> Result<Vec<Arc<Event>>, Error> {
    if events.is_empty() {
        return Err(Error::Unreadable("the log ends before its head: its tail is missing".to_owned()));
    }
    Ok(events.into_iter().map(Arc::new).collect())
}
