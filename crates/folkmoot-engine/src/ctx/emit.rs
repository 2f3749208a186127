//! What a workflow tells the feed, and what a debate keeps with it.

use folkmoot_core::{
    Digest,
    debate::record::DebateRecord,
    journal::{EntryKind, EntryState, Write},
};
use serde::Serialize;

use super::{Ctx, canonical, digest_of};
use crate::Failure;

impl Ctx {
    /// Tells the feed, and the log, an event of the workflow's own (`debate.turn`), once.
    pub async fn emit(&self, key: impl AsRef<str>, kind: &str, payload: &impl Serialize) -> Result<(), Failure> {
        let (given, payload) = (canonical(payload), serde_json::to_string(payload)?);
        self.tell(key.as_ref(), digest_of(&(kind, given)), kind, payload, Vec::new()).await
    }

    /// As [`Ctx::emit`], and keeps records with the event, in the same transaction: all of it,
    /// once, or nothing. Only a debate does. The payload must be an object, and has no member
    /// `records`: that is where the log says what was kept.
    pub async fn keep(
        &self,
        key: impl AsRef<str>,
        kind: &str,
        payload: &impl Serialize,
        records: Vec<DebateRecord>,
    ) -> Result<(), Failure> {
        let (given, payload) = (canonical(payload), serde_json::to_string(payload)?);
        self.tell(key.as_ref(), digest_of(&(kind, given, &records)), kind, payload, records).await
    }

    async fn tell(
        &self,
        key: &str,
        input: Option<Digest>,
        kind: &str,
        payload: String,
        records: Vec<DebateRecord>,
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
