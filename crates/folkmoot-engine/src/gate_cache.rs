//! The newest gates in memory, because a gate's opener usually waits for it at once.
//!
//! A gate enters and changes only by events of the log, in order. So the cache is never ahead of
//! the log, and what it does not know yet will still be delivered to waiters.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Mutex,
};

use folkmoot_core::{Digest, Event, Gate, GateId, erase, gate::GateEvent};
use folkmoot_store::GateView;

use crate::lock::lock;

/// How many gates are kept.
const GATES: usize = 2048;
/// How many summaries are kept. Those of gates that are being opened come before their events.
const TEXTS: usize = 4096;
/// A longer summary is read when it is needed.
const TEXT_BYTES_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct GateCache(Mutex<GateCacheState>);

#[derive(Debug, Default)]
struct GateCacheState {
    gates: HashMap<GateId, Gate>,
    order: VecDeque<GateId>,
    texts: HashMap<Digest, String>,
    text_order: VecDeque<Digest>,
    /// Content that was erased for good.
    barred: HashSet<Digest>,
}

impl GateCache {
    /// An empty cache that never keeps these digests.
    pub(crate) fn without(barred: Vec<Digest>) -> Self {
        Self(Mutex::new(GateCacheState { barred: barred.into_iter().collect(), ..GateCacheState::default() }))
    }

    /// Drops all gates after the log was lost. Summaries are addressed by digest and stay.
    pub(crate) fn start_over(&self) {
        let mut kept = lock(&self.0);
        kept.gates.clear();
        kept.order.clear();
    }

    /// Forgets a summary that was erased.
    pub(crate) fn forget(&self, digest: Digest, for_good: bool) {
        let mut kept = lock(&self.0);
        if kept.texts.remove(&digest).is_some() {
            kept.text_order.retain(|known| *known != digest);
        }
        if for_good {
            kept.barred.insert(digest);
        }
    }

    /// The gate and its summary, if both are cached.
    pub(crate) fn get(&self, id: &GateId) -> Option<GateView> {
        let kept = lock(&self.0);
        let gate = kept.gates.get(id)?.clone();
        let summary = Some(kept.texts.get(&gate.content.summary)?.clone());
        Some(GateView { gate, summary })
    }

    /// A summary, if it is cached. It is addressed by its digest, so it cannot be stale.
    pub(crate) fn text(&self, digest: Digest) -> Option<String> {
        lock(&self.0).texts.get(&digest).cloned()
    }

    pub(crate) fn put_text(&self, digest: Digest, text: String) {
        let mut kept = lock(&self.0);
        if text.len() > TEXT_BYTES_MAX || kept.barred.contains(&digest) || kept.texts.insert(digest, text).is_some() {
            return;
        }
        kept.text_order.push_back(digest);
        if kept.text_order.len() > TEXTS
            && let Some(oldest) = kept.text_order.pop_front()
        {
            kept.texts.remove(&oldest);
        }
    }

    /// Applies the next event, and returns whether it may concern a gate that names channels.
    pub(crate) fn apply(&self, event: &Event) -> bool {
        erase::by(event).into_iter().for_each(|(digest, for_good)| self.forget(digest, for_good));
        let stream: &str = &event.fact.stream;
        if !event.fact.kind.starts_with("gate.") {
            return false;
        }
        let mut kept = lock(&self.0);
        if event.fact.kind == "gate.opened" {
            let Ok(GateEvent::Opened(gate)) = GateEvent::read(&event.fact) else { return true };
            let tells = tells(&gate);
            kept.order.push_back(gate.id.clone());
            kept.gates.insert(gate.id.clone(), *gate);
            if kept.order.len() > GATES
                && let Some(oldest) = kept.order.pop_front()
            {
                kept.gates.remove(&oldest);
            }
            tells
        } else if let Some(gate) = kept.gates.get_mut(stream) {
            let follows = event.fact.stream_seq == gate.seq + 1;
            let applied = follows && GateEvent::read(&event.fact).is_ok_and(|event| gate.apply(&event).is_ok());
            let tells = tells(gate);
            if !applied {
                kept.gates.remove(stream);
            }
            tells
        } else {
            true
        }
    }
}

fn tells(gate: &Gate) -> bool {
    !gate.notification_channels.is_empty() || !gate.reminders.escalate_to.is_empty()
}
