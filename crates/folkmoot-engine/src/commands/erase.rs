//! Erasing content for good.

use std::time::Duration;

use folkmoot_core::{Action, Digest, GateId, Outcome, Refusal, Role, erase::Erasing, receipt};
use folkmoot_store::{Error, Store};

use crate::{Caller, Engine};

/// How often the files are tried again, and how long to wait between.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// What was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Now, and not before.
    pub digests: Vec<Digest>,
    /// Whether the bytes are gone from the database's files too. PostgreSQL removes them in its own
    /// time.
    pub scrubbed: bool,
}

impl Engine {
    /// Erases content, unless something that is not over still needs it. On return the bytes are
    /// gone.
    pub async fn erase(&self, caller: Caller, erasing: Erasing) -> Result<Erasure, Error> {
        if caller.principal.role == Role::Admin {
            for digest in &erasing.digests {
                if let Some(by) = self.0.store.needed_by(*digest).await? {
                    return Err(Refusal::ContentInUse { digest: *digest, by }.into());
                }
            }
        }
        let asked = erasing.digests.clone();
        let digests = match self.execute(caller, Action::Erase(erasing)).await? {
            Outcome::Erased(digests) => digests,
            other => return Err(Error::Unreadable(format!("an erasure was expected, and this came: {other:?}"))),
        };
        asked.iter().for_each(|digest| self.0.gate_cache.forget(*digest, true));
        Ok(Erasure { digests, scrubbed: self.scrub().await? })
    }

    /// Erases all that a decided gate has shown: its summaries, artifacts and edited text.
    pub async fn erase_gate(&self, caller: Caller, id: &GateId, reason: String) -> Result<Erasure, Error> {
        let gate = self.gate(&caller.principal, id).await?.gate;
        if gate.decision().is_none() && caller.principal.role == Role::Admin {
            return Err(Refusal::ContentInUse { digest: gate.content.summary, by: id.to_string() }.into());
        }
        let digests = receipt::digests(&self.0.store.streams(vec![id.to_string()]).await?).into_iter().collect();
        self.erase(caller, Erasing { digests, reason }).await
    }

    /// Has the database's files forget what was erased. Somebody may be reading what is there.
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
