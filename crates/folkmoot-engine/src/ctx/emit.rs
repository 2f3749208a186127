//! A workflow's own events.

use folkmoot_core::{
    Digest, NewRecord,
    journal::{EntryKind, EntryState, Write},
};
use serde::Serialize;

use super::{Ctx, canonical, digest_of};
use crate::Failure;

impl Ctx {
    /// Appends an event of the workflow's own, such as `release.tested`, to the log and the feed,
    /// exactly once.
    pub async fn emit(&self, key: impl AsRef<str>, kind: &str, payload: &impl Serialize) -> Result<(), Failure> {
        let (given, payload) = (canonical(payload), serde_json::to_string(payload)?);
        self.tell(key.as_ref(), digest_of(&(kind, given)), kind, payload, Vec::new()).await
    }

    pub(super) async fn tell(
        &self,
        key: &str,
        input: Option<Digest>,
        kind: &str,
        payload: String,
        records: Vec<NewRecord>,
    ) -> Result<(), Failure> {
        let (call, known) = self.call(EntryKind::Event, key, input).await;
        match known.map(|line| line.entry.state) {
            None => {
                let write = Write::Emit { kind: kind.to_owned(), payload, records };
                self.pass.record(&call, None, self.pass.engine.now(), write).await.map(drop)
            }
            Some(EntryState::Failed { error }) => Err(Failure::of(error)),
            Some(_) => Ok(()),
        }
    }
}
