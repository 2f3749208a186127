//! How far debates were when somebody last looked: whoever looks again reads only what came since.

use std::collections::HashMap;

use folkmoot_core::{Principal, RunId};
use folkmoot_debate::{DebateEvent, DebateProgress};
use folkmoot_engine::{Engine, Error};
use parking_lot::{Mutex, MutexGuard};

use super::EVENTS;

/// How many debates are remembered. When there are more all are forgotten, and read again when
/// somebody asks.
const DEBATES_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct ProgressCache(Mutex<ProgressCacheState>);

#[derive(Debug, Default)]
struct ProgressCacheState {
    /// Of the log that it was read from.
    epoch: u64,
    debates: HashMap<RunId, (u64, DebateProgress)>,
}

impl ProgressCache {
    /// How far a debate is that `principal` may know of.
    pub(crate) async fn progress(
        &self,
        engine: &Engine,
        principal: &Principal,
        id: &RunId,
    ) -> Result<DebateProgress, Error> {
        let epoch = *engine.log_epoch().borrow();
        let known = self.of(epoch).debates.get(id).cloned();
        let (mut position, mut progress) = known.unwrap_or_default();
        let before = position;
        loop {
            let events = engine.events_of_run(principal, id, position, EVENTS).await?;
            let told = events.iter().filter_map(|event| DebateEvent::read(&event.fact.kind, &event.fact.payload));
            told.for_each(|told| progress.apply(&told));
            position = events.last().map_or(position, |event| event.position);
            if events.len() < EVENTS as usize {
                break;
            }
        }
        if position > before {
            self.keep(epoch, id, position, &progress);
        }
        Ok(progress)
    }

    /// What is remembered of this log; nothing of one before it.
    fn of(&self, epoch: u64) -> MutexGuard<'_, ProgressCacheState> {
        let mut kept = self.0.lock();
        if kept.epoch < epoch {
            *kept = ProgressCacheState { epoch, debates: HashMap::new() };
        }
        kept
    }

    fn keep(&self, epoch: u64, id: &RunId, position: u64, progress: &DebateProgress) {
        let mut kept = self.of(epoch);
        if kept.epoch > epoch {
            return;
        }
        let seen = &mut kept.debates;
        if seen.len() >= DEBATES_MAX && !seen.contains_key(id) {
            seen.clear();
        }
        // Somebody else may have looked meanwhile, and seen more.
        let known = seen.entry(id.clone()).or_default();
        if known.0 < position {
            *known = (position, progress.clone());
        }
    }
}
