//! Pauses that survive anything.

use std::time::Duration;

use folkmoot_core::journal::{EntryKind, EntryState, Waits, Write};

use super::{Ctx, digest_of};
use crate::Failure;

impl Ctx {
    /// Waits so long from the first time that this is called. Time that passes while no node runs
    /// counts.
    pub async fn sleep(&self, key: impl AsRef<str>, span: Duration) -> Result<(), Failure> {
        let (call, known) = self.call(EntryKind::Sleep, key.as_ref(), digest_of(&span.as_micros())).await;
        let entry = match known {
            Some(line) => line.entry,
            None => self.pass.record(&call, None, self.pass.engine.now(), Write::Sleep(span)).await?,
        };
        match &entry.state {
            EntryState::Waiting(Waits::Until(moment)) => {
                self.wait_until(*moment).await;
                Ok(())
            }
            EntryState::Failed { error } => Err(Failure::of(error.clone())),
            _ => Err(Failure::new("invalid_journal", format!("{} is recorded as no pause", entry.key))),
        }
    }
}
