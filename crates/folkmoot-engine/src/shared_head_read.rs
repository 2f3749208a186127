//! Reads the end of the log once for many concurrent callers.

use std::sync::atomic::{AtomicU64, Ordering};

use folkmoot_store::Store;
use tokio::sync::Mutex;

use crate::Engine;

#[derive(Debug, Default)]
pub(crate) struct SharedHeadRead {
    asked: AtomicU64,
    answered: Mutex<HeadReadResult>,
}

/// The result for all callers up to this number; `None` if the database did not answer.
#[derive(Debug, Default)]
struct HeadReadResult {
    up_to: u64,
    position: Option<u64>,
}

impl Engine {
    /// The end of the log, read after this call began; `None` if it cannot be read.
    pub(crate) async fn read_head_shared(&self) -> Option<u64> {
        let number = self.0.shared_head_read.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut answered = self.0.shared_head_read.answered.lock().await;
        if answered.up_to < number {
            // All callers so far are answered by this one read.
            let up_to = self.0.shared_head_read.asked.load(Ordering::SeqCst);
            let position = self.0.store.head().await.ok().map(|head| head.position);
            *answered = HeadReadResult { up_to, position };
        }
        answered.position
    }
}
