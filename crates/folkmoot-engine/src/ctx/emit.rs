//! What a workflow tells the feed.

use folkmoot_core::journal::{EntryKind, Write};
use serde::Serialize;

use super::{Ctx, digest_of};
use crate::Failure;

impl Ctx {
    /// Tells the feed, and the log, an event of the workflow's own (`debate.turn`), once.
    pub async fn emit(&self, key: impl AsRef<str>, kind: &str, payload: &impl Serialize) -> Result<(), Failure> {
        let payload = serde_json::to_string(payload)?;
        let (call, known) = self.call(EntryKind::Event, key.as_ref(), digest_of(&(kind, &payload))).await;
        if known.is_none() {
            let write = Write::Emit { kind: kind.to_owned(), payload };
            self.pass.record(&call, None, self.pass.engine.now(), write).await?;
        }
        Ok(())
    }
}
