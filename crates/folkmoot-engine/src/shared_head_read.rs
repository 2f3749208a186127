//! Where the log ends, read once for the many who want to know at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

use folkmoot_store::Store;
use tokio::sync::Mutex;

use crate::Engine;

#[derive(Debug, Default)]
pub(crate) struct SharedHeadRead {
    asked: AtomicU64,
    answered: Mutex<HeadReadResult>,
}

/// What everyone up to this number is told; nothing where the database did not answer.
#[derive(Debug, Default)]
struct HeadReadResult {
    up_to: u64,
    position: Option<u64>,
}

impl Engine {
    /// The end of the log as it was read after this was called, or `None` where it cannot be read.
    pub(crate) async fn read_head_shared(&self) -> Option<u64> {
        let number = self.0.shared_head_read.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut answered = self.0.shared_head_read.answered.lock().await;
        if answered.up_to < number {
            // Whoever has asked by now is answered by this one read.
            let up_to = self.0.shared_head_read.asked.load(Ordering::SeqCst);
            let position = self.0.store.head().await.ok().map(|head| head.position);
            *answered = HeadReadResult { up_to, position };
        }
        answered.position
    }
}
