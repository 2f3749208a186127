//! Turns: so many steps at once on a node, given out fairly between runs.
//!
//! Whoever waits is served run by run, one step each, so that a run with a thousand branches keeps nobody else waiting.

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
pub(crate) struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// The runs that have steps waiting, the next first.
    order: VecDeque<RunId>,
    waiting: HashMap<RunId, VecDeque<oneshot::Sender<Turn>>>,
}

/// The right to execute one step; given on when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn(Option<Arc<Mutex<State>>>);

impl Turns {
    pub(crate) fn new(at_once: usize) -> Self {
        Self(Arc::new(Mutex::new(State { free: at_once, order: VecDeque::new(), waiting: HashMap::new() })))
    }

    /// Waits for a turn. Cancelling this loses nothing: a turn that nobody takes is given on.
    pub(crate) async fn take(&self, run: &RunId) -> Turn {
        let waiting = {
            let mut state = lock(&self.0);
            if state.free > 0 {
                state.free -= 1;
                return Turn(Some(self.0.clone()));
            }
            let (give, waiting) = oneshot::channel();
            if !state.waiting.contains_key(run) {
                state.order.push_back(run.clone());
            }
            state.waiting.entry(run.clone()).or_default().push_back(give);
            waiting
        };
        waiting.await.expect("a turn is given before its channel is dropped")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        // A loop, not a turn that is dropped in turn: of a run that was cancelled a hundred thousand may have gone.
        let mut turn = Turn(Some(turns.clone()));
        loop {
            let Some(give) = lock(&turns).next_or_free() else { break };
            match give.send(turn) {
                Ok(()) => return,
                // Nobody waits at the other end any more.
                Err(back) => turn = back,
            }
        }
        turn.0 = None;
    }
}

impl State {
    /// Who is next; where nobody waits, the turn is free. In one go: whoever comes in between would wait for a turn that is
    /// there.
    fn next_or_free(&mut self) -> Option<oneshot::Sender<Turn>> {
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
