//! Limits the concurrent steps of a node, and shares them fairly between runs.
//!
//! Waiting steps are served run by run, one step each, so a run with a thousand branches does not
//! delay others.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use folkmoot_core::RunId;
use tokio::sync::oneshot;

use crate::lock::lock;

#[derive(Debug)]
pub(crate) struct FairStepLimit(Arc<Mutex<StepLimitState>>);

#[derive(Debug)]
struct StepLimitState {
    free: usize,
    /// Runs with waiting steps, in order.
    order: VecDeque<RunId>,
    waiting: HashMap<RunId, VecDeque<oneshot::Sender<StepPermit>>>,
}

/// The permit for one step; dropping it passes it on.
#[derive(Debug)]
pub(crate) struct StepPermit(Option<Arc<Mutex<StepLimitState>>>);

impl FairStepLimit {
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Mutex::new(StepLimitState { free: at_once, order: VecDeque::new(), waiting: HashMap::new() })))
    }

    /// Waits for a permit. Cancel-safe: an untaken permit goes to the next step.
    pub(crate) async fn take(&self, run: &RunId) -> StepPermit {
        let waiting = {
            let mut state = lock(&self.0);
            if state.free > 0 {
                state.free -= 1;
                return StepPermit(Some(self.0.clone()));
            }
            let (give, waiting) = oneshot::channel();
            if !state.waiting.contains_key(run) {
                state.order.push_back(run.clone());
            }
            state.waiting.entry(run.clone()).or_default().push_back(give);
            waiting
        };
        waiting.await.expect("a permit is sent before its channel is dropped")
    }
}

impl Drop for StepPermit {
    fn drop(&mut self) {
        let Some(limit) = self.0.take() else { return };
        // A loop, not a recursive drop: a cancelled run can leave a hundred thousand dropped
        // receivers behind.
        let mut permit = StepPermit(Some(limit.clone()));
        loop {
            let Some(give) = lock(&limit).next_or_free() else { break };
            match give.send(permit) {
                Ok(()) => return,
                Err(unread) => permit = unread,
            }
        }
        permit.0 = None;
    }
}

impl StepLimitState {
    /// Returns the next waiting step, or counts the permit as free. Under one lock: a step that
    /// came in between would wait although a permit is free.
    fn next_or_free(&mut self) -> Option<oneshot::Sender<StepPermit>> {
        let Some(run) = self.order.pop_front() else {
            self.free += 1;
            return None;
        };
        let queue = self.waiting.get_mut(&run).expect("a run that is in the order has steps waiting");
        let give = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&run);
        } else {
            self.order.push_back(run);
        }
        give
    }
}
