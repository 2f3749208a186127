//! Pauses that survive restarts.

use std::time::Duration;

use folkmoot_core::journal::{EntryKind, EntryState, Waits, Write};

use super::{Ctx, digest_of};
use crate::Failure;

impl Ctx {
    /// Waits for `span`, counted from the first call. Time during which no node runs counts too.
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
