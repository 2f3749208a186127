//! Waiting for gates: any number of waiters, no polling, no lost wake-up.
//!
//! A waiter registers, then reads the gate, then applies the events that arrive. What was committed
//! before the read is in the row, and what came later is delivered. An event that is in both is
//! recognised by its number in the stream.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{Event, Gate, GateId, Principal, gate::GateEvent};
use folkmoot_store::{Error, GateView};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;

use crate::{Engine, gate_cache::GateCache, lock::lock};

/// How many gates are read concurrently for a waiter on many.
const READS: usize = 8;

/// A longer summary is not kept while somebody waits.
const SUMMARY_BYTES_MAX: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    by_stream: Mutex<HashMap<String, Vec<WaiterRegistration>>>,
    next: AtomicU64,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct WaiterRegistration {
    waiter: u64,
    events: mpsc::UnboundedSender<News>,
}

/// A message to a waiter.
#[derive(Debug)]
enum News {
    Event(Arc<Event>),
    /// The database lost the end of its log: what was read or delivered may be gone.
    ReadAgain,
}

impl Waiters {
    /// Makes all waiters read again.
    pub(crate) fn start_over(&self) {
        for registration in lock(&self.by_stream).values().flatten() {
            // A dropped listener is about to deregister.
            let _ = registration.events.send(News::ReadAgain);
        }
    }

    /// Delivers an event to the waiters of its stream.
    pub(crate) fn deliver(&self, event: &Arc<Event>) {
        let by_stream = lock(&self.by_stream);
        for registration in by_stream.get(event.fact.stream.as_ref()).into_iter().flatten() {
            // A dropped listener is about to deregister.
            let _ = registration.events.send(News::Event(event.clone()));
        }
    }

    /// The events of one stream from now on, until the listener is dropped.
    pub(crate) fn listen(&self, stream: &str) -> StreamListener<'_> {
        let (sender, events) = mpsc::unbounded_channel();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.register(number, stream, &sender);
        StreamListener { waiters: self, number, stream: stream.to_owned(), events }
    }

    fn register(&self, waiter: u64, stream: &str, events: &mpsc::UnboundedSender<News>) {
        let mut by_stream = lock(&self.by_stream);
        let registration = WaiterRegistration { waiter, events: events.clone() };
        by_stream.entry(stream.to_owned()).or_default().push(registration);
    }

    fn deregister(&self, waiter: u64, stream: &str) {
        let mut by_stream = lock(&self.by_stream);
        if let Some(waiting) = by_stream.get_mut(stream) {
            waiting.retain(|registration| registration.waiter != waiter);
            if waiting.is_empty() {
                by_stream.remove(stream);
            }
        }
    }
}

/// Receives the events of one stream while it lives.
pub(crate) struct StreamListener<'a> {
    waiters: &'a Waiters,
    number: u64,
    stream: String,
    events: mpsc::UnboundedReceiver<News>,
}

impl StreamListener<'_> {
    /// The next event; `None` if the row must be read again. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Arc<Event>> {
        match self.events.recv().await.expect("this listener's registration holds a sender") {
            News::Event(event) => Some(event),
            News::ReadAgain => None,
        }
    }
}

impl Drop for StreamListener<'_> {
    fn drop(&mut self) {
        self.waiters.deregister(self.number, &self.stream);
    }
}

/// A wait for gates. Dropping it ends the wait.
#[derive(Debug)]
pub struct Waiter(GateWaiter<Reads>);

/// Where a waiter registers and reads.
trait WaitSource {
    fn waiters(&self) -> &Waiters;

    fn gate_cache(&self) -> &GateCache;

    /// Whether the caller may see this gate, which is in memory.
    fn may_see(&self, gate: &Gate) -> bool;

    /// The gate's row.
    async fn gate(&self, id: &GateId) -> Result<GateView, Error>;
}

/// A principal's view of an engine.
#[derive(Debug)]
struct Reads {
    engine: Engine,
    principal: Principal,
}

impl WaitSource for Reads {
    fn waiters(&self) -> &Waiters {
        &self.engine.0.waiters
    }

    fn gate_cache(&self) -> &GateCache {
        &self.engine.0.gate_cache
    }

    fn may_see(&self, gate: &Gate) -> bool {
        self.principal.may_see(gate)
    }

    async fn gate(&self, id: &GateId) -> Result<GateView, Error> {
        self.engine.gate(&self.principal, id).await
    }
}

impl Engine {
    /// Waits until the gate is decided or `timeout` has passed, and returns it, without its summary
    /// if that is long.
    pub async fn wait(&self, principal: &Principal, id: &GateId, timeout: Duration) -> Result<GateView, Error> {
        let mut waiter = self.waiter(principal, [id.clone()]).await?;
        let decided = tokio::select! {
            biased;
            decided = waiter.next() => decided?,
            () = self.0.host.sleep(timeout) => None,
        };
        match decided.or_else(|| waiter.0.pending.remove(id)) {
            Some(view) => Ok(view),
            None => self.gate(principal, id).await,
        }
    }

    pub fn waiting_for_gates(&self) -> usize {
        self.0.waiters.waiting.load(Ordering::Relaxed)
    }

    /// Starts waiting for these gates, which must all exist.
    pub async fn waiter(&self, principal: &Principal, ids: impl IntoIterator<Item = GateId>) -> Result<Waiter, Error> {
        let reads = Reads { engine: self.clone(), principal: principal.clone() };
        Ok(Waiter(GateWaiter::begin(reads, ids).await?))
    }
}

impl Waiter {
    /// The next decided gate, without its summary if that is long; `None` when none is left.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<GateView>, Error> {
        self.0.next().await
    }

    pub fn pending(&self) -> impl Iterator<Item = &GateId> {
        self.0.pending.keys()
    }
}

#[derive(Debug)]
struct GateWaiter<S: WaitSource> {
    source: S,
    number: u64,
    ids: HashSet<GateId>,
    pending: HashMap<GateId, GateView>,
    decided: Vec<GateView>,
    events: mpsc::UnboundedReceiver<News>,
}

impl<S: WaitSource> GateWaiter<S> {
    async fn begin(source: S, ids: impl IntoIterator<Item = GateId>) -> Result<Self, Error> {
        let (sender, events) = mpsc::unbounded_channel();
        let mut waiting = Self {
            number: source.waiters().next.fetch_add(1, Ordering::Relaxed),
            source,
            ids: ids.into_iter().collect(),
            pending: HashMap::new(),
            decided: Vec::new(),
            events,
        };
        waiting.register(&sender);
        let source = &waiting.source;
        let reads = waiting.ids.clone().into_iter().map(|id| async move {
            match source.gate_cache().get(&id).filter(|view| source.may_see(&view.gate)) {
                Some(view) => Ok(view),
                None => source.gate(&id).await,
            }
        });
        let views = stream::iter(reads).buffer_unordered(READS).map_ok(without_long_summary);
        let views: Vec<GateView> = views.try_collect().await?;
        views.into_iter().for_each(|view| waiting.sort(view));
        Ok(waiting)
    }

    async fn next(&mut self) -> Result<Option<GateView>, Error> {
        loop {
            if let Some(view) = self.decided.pop() {
                return Ok(Some(view));
            }
            if self.pending.is_empty() {
                return Ok(None);
            }
            match self.events.recv().await.expect("this waiter's registrations hold a sender") {
                News::Event(event) => self.take(&event).await?,
                News::ReadAgain => self.read_again().await?,
            }
        }
    }

    async fn take(&mut self, event: &Event) -> Result<(), Error> {
        let Some(known) = self.pending.get(event.fact.stream.as_ref()) else { return Ok(()) };
        let id = known.gate.id.clone();
        if event.fact.stream_seq <= known.gate.seq {
            return Ok(());
        }
        let moved = moved_on(&known.gate, event).filter(|moved| moved.content.summary == known.gate.content.summary);
        let view = match moved {
            Some(gate) => GateView { gate, summary: known.summary.clone() },
            // The event does not contain everything: read the row.
            None => without_long_summary(self.source.gate(&id).await?),
        };
        self.pending.remove(&id);
        self.sort(view);
        Ok(())
    }

    async fn read_again(&mut self) -> Result<(), Error> {
        let ids: Vec<GateId> = self.pending.keys().cloned().collect();
        for id in ids {
            let view = without_long_summary(self.source.gate(&id).await?);
            self.pending.remove(&id);
            self.sort(view);
        }
        Ok(())
    }

    fn sort(&mut self, view: GateView) {
        match view.gate.decision() {
            Some(_) => self.decided.push(view),
            None => drop(self.pending.insert(view.gate.id.clone(), view)),
        }
    }

    fn register(&self, events: &mpsc::UnboundedSender<News>) {
        self.source.waiters().waiting.fetch_add(1, Ordering::Relaxed);
        self.ids.iter().for_each(|id| self.source.waiters().register(self.number, id.as_str(), events));
    }
}

impl<S: WaitSource> Drop for GateWaiter<S> {
    fn drop(&mut self) {
        self.source.waiters().waiting.fetch_sub(1, Ordering::Relaxed);
        self.ids.iter().for_each(|id| self.source.waiters().deregister(self.number, id.as_str()));
    }
}

/// Many may be waited for at once, so they must be small.
fn without_long_summary(GateView { gate, summary }: GateView) -> GateView {
    GateView { gate, summary: summary.filter(|summary| summary.len() <= SUMMARY_BYTES_MAX) }
}

fn moved_on(gate: &Gate, event: &Event) -> Option<Gate> {
    let mut moved = gate.clone();
    let follows = event.fact.stream_seq == gate.seq + 1;
    let applied = follows && moved.apply(&GateEvent::read(&event.fact).ok()?).is_ok();
    applied.then_some(moved)
}
