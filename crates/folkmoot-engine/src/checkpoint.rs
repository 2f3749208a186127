//! Checkpoints: statements of where the log ends, to be signed and kept elsewhere.

use folkmoot_core::{
    Digest, Head, Principal, Refusal, chain,
    checkpoint::{Checkpoint, LogSummary},
};
use folkmoot_store::{Error, Store};

use crate::Engine;

impl Engine {
    /// States where the log ends now. Only for principals who see the whole log.
    pub async fn checkpoint(&self, principal: &Principal) -> Result<Checkpoint, Error> {
        if !principal.role.sees_everything() {
            return Err(Refusal::RoleMayNot { role: principal.role, verb: "take a checkpoint of the log" }.into());
        }
        self.own_checkpoint().await
    }

    /// As [`Engine::checkpoint`], for Folkmoot itself.
    pub async fn own_checkpoint(&self) -> Result<Checkpoint, Error> {
        let head = self.0.store.head().await?;
        let last = self.hash_at(head.position).await?;
        // A signed statement must be true: refuse a head that does not match the last event.
        if last.unwrap_or(Head::START.hash) != head.hash {
            let problem = format!("the log does not end with the hash that its head names at {}", head.position);
            return Err(Error::Unreadable(problem));
        }
        let first = self.hash_at(1).await?.unwrap_or(Digest::ZERO);
        Ok(Checkpoint::new(head, first, self.now()))
    }

    /// What the log says about a checkpoint's position.
    pub async fn seen(&self, position: u64) -> Result<LogSummary, Error> {
        let end = self.0.store.head().await?.position;
        Ok(LogSummary { first: self.hash_at(1).await?, there: self.hash_at(position).await?, end })
    }

    /// The computed hash of the event at `position`, if there is one.
    pub async fn hash_at(&self, position: u64) -> Result<Option<Digest>, Error> {
        let Some(before) = position.checked_sub(1) else { return Ok(None) };
        let found = self.0.store.events(before, 1).await?.pop().filter(|event| event.position == position);
        Ok(found.map(|event| chain::hash(position, &event.fact, event.prev_hash)))
    }
}
