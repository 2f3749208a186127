//! Erasing content for good.

use std::time::Duration;

use folkmoot_core::{
    Digest, GateId, Outcome, Refusal, Role,
    erase::{self, Erasure},
    receipt,
};
use folkmoot_store::{Error, Store};

use crate::{Caller, Engine};

/// How often to retry the database's files, and the delay.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedContent {
    /// Only those that were not erased before.
    pub digests: Vec<Digest>,
    /// Whether the bytes are also gone from the database's files. PostgreSQL removes them later.
    pub scrubbed: bool,
}

impl Engine {
    /// Erases content, unless something unfinished still needs it. On return the bytes are gone.
    pub async fn erase(&self, caller: Caller, erasure: Erasure) -> Result<ErasedContent, Error> {
        if caller.principal.role == Role::Admin {
            for digest in &erasure.digests {
                if let Some(by) = self.0.store.needed_by(*digest).await? {
                    return Err(Refusal::ContentInUse { digest: *digest, by }.into());
                }
            }
        }
        let asked = erasure.digests.clone();
        let digests = match self.execute(caller, erase::Action::Erase(erasure)).await? {
            Outcome::Erased(digests) => digests,
            other => return Err(Error::Unreadable(format!("an erasure was expected, and this came: {other:?}"))),
        };
        asked.iter().for_each(|digest| self.0.gate_cache.forget(*digest, true));
        Ok(ErasedContent { digests, scrubbed: self.scrub().await? })
    }

    /// Erases everything that a decided gate has shown: its summaries, artifacts and edited text.
    pub async fn erase_gate(&self, caller: Caller, id: &GateId, reason: String) -> Result<ErasedContent, Error> {
        let gate = self.gate(&caller.principal, id).await?.gate;
        if gate.decision().is_none() && caller.principal.role == Role::Admin {
            return Err(Refusal::ContentInUse { digest: gate.content.summary, by: id.to_string() }.into());
        }
        let digests = receipt::digests(&self.0.store.streams(vec![id.to_string()]).await?).into_iter().collect();
        self.erase(caller, Erasure { digests, reason }).await
    }

    /// Removes erased bytes from the database's files. Returns `false` if somebody still reads them
    /// after all tries, and always on PostgreSQL.
    pub(crate) async fn scrub(&self) -> Result<bool, Error> {
        if self.0.store.is_shared() {
            return Ok(false);
        }
        for _ in 0..TRIES {
            if self.0.store.scrub().await? {
                return Ok(true);
            }
            self.0.host.sleep(PAUSE).await;
        }
        Ok(false)
    }
}
