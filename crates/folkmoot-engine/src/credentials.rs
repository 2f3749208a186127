//! Which secret belongs to whom. All of them are in memory, because every request asks.
//!
//! What a revoked token wants to write is refused in the transaction. All else is answered from
//! what this node knows: of its own revocations at once, and of those of other nodes by the log, in
//! which a revocation comes before whatever happens after it. A node that has not heard from the
//! database for [`SILENCE_MAX`] answers nothing, and a revocation on a shared database is
//! acknowledged only after that time. So no node heeds a token whose revocation was acknowledged.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::RwLock};

use folkmoot_core::{Event, Principal, Refusal, TokenId, token::Token};
use folkmoot_store::{Error, Store};
use tokio::sync::watch;

use crate::{
    Engine,
    clearance::{LISTEN_AGAIN, SILENCE_MAX},
    lock::{read, write},
};

/// What a valid secret says of whoever shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Whom it names.
    pub principal: Principal,
    /// By which token.
    pub token: TokenId,
}

/// Only ever grows: a token never changes its holder, and once revoked it stays so. So it does not
/// matter in which order this node hears of tokens, and what was read before a revocation cannot
/// undo it.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    known: RwLock<CredentialState>,
    /// How many tokens have ended here.
    ended: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct CredentialState {
    by_hash: HashMap<[u8; 32], Credential>,
    /// Every token that was heard of, and whether it was revoked.
    revoked: HashMap<TokenId, bool>,
}

impl Credentials {
    /// Adds tokens with the hashes of their secrets, as a transaction has left them or as they were
    /// read.
    pub(crate) fn learn(&self, tokens: impl IntoIterator<Item = (Token, [u8; 32])>) {
        let mut known = write(&self.known);
        for (Token { id, principal, revoked_at, .. }, hash) in tokens {
            let revoked = known.revoked.entry(id.clone()).or_default();
            if revoked_at.is_some() && !*revoked {
                *revoked = true;
                self.ended.send_modify(|ended| *ended += 1);
            }
            known.by_hash.entry(hash).or_insert(Credential { principal, token: id });
        }
    }

    /// Ends a token that was revoked.
    pub(crate) fn end(&self, token: TokenId) {
        write(&self.known).revoked.insert(token, true);
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// The tokens that were heard of and not revoked.
    fn standing(&self) -> Vec<TokenId> {
        let known = read(&self.known);
        known.revoked.iter().filter(|(_, revoked)| !**revoked).map(|(id, _)| id.clone()).collect()
    }

    /// Takes note of what the log says of a token. `true` if it was made and is not known: then the
    /// tokens must be read, since the hash of its secret is in no event.
    pub(crate) fn hear(&self, event: &Event) -> bool {
        let token = event.fact.stream.strip_prefix("token:").and_then(|id| id.parse().ok());
        match (event.fact.kind.as_ref(), token) {
            ("token.revoked", Some(token)) => {
                self.end(token);
                false
            }
            ("token.created", Some(token)) => !read(&self.known).revoked.contains_key(&token),
            _ => false,
        }
    }

    fn is_revoked(&self, token: &TokenId) -> bool {
        read(&self.known).is_revoked(token)
    }

    fn of(&self, hash: &[u8; 32]) -> Option<Credential> {
        let known = read(&self.known);
        known.by_hash.get(hash).filter(|credential| !known.is_revoked(&credential.token)).cloned()
    }
}

impl CredentialState {
    fn is_revoked(&self, token: &TokenId) -> bool {
        self.revoked.get(token) == Some(&true)
    }
}

impl Engine {
    /// Whom a token's secret names. The secret itself is nowhere: what is compared is its hash.
    pub fn authenticate(&self, secret: &str) -> Option<Credential> {
        self.0.credentials.of(&hash(secret))
    }

    /// Whether `secret` is a token's, also of one that was revoked.
    pub fn knows_token(&self, secret: &str) -> bool {
        read(&self.0.credentials.known).by_hash.contains_key(&hash(secret))
    }

    /// Refuses a token that was revoked, whichever node was told to. Fails where this node does not
    /// know, because it has not heard from the database. Whoever shows no token is not asked for
    /// one.
    pub async fn must_stand(&self, token: Option<&TokenId>) -> Result<(), Error> {
        let Some(token) = token else { return Ok(()) };
        let mut over = self.0.host.sleep(SILENCE_MAX);
        // First this, then the look: what it has heard by now is in memory.
        while !self.in_touch() {
            tokio::select! {
                biased;
                () = &mut over => {
                    let why = "this server has not heard from it, and cannot know which tokens are valid";
                    return Err(Error::Unavailable(why.to_owned()));
                }
                () = self.0.host.sleep(LISTEN_AGAIN) => {}
            }
        }
        match self.is_revoked(token) {
            true => Err(Refusal::Unauthenticated.into()),
            false => Ok(()),
        }
    }

    /// Whether this node knows that the token was revoked.
    pub fn is_revoked(&self, token: &TokenId) -> bool {
        self.0.credentials.is_revoked(token)
    }

    /// Returns as soon as this node knows that the token was revoked.
    pub async fn revoked(&self, token: &TokenId) {
        let mut ended = self.0.credentials.ended.subscribe();
        while !self.is_revoked(token) {
            // An error means that the engine has ended, and with it all that is answered.
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the tokens again, after one was made on another node.
    pub(crate) async fn reload_credentials(&self) -> Result<(), Error> {
        let tokens = self.0.store.tokens().await?;
        self.0.credentials.learn(tokens);
        Ok(())
    }

    /// Reads the tokens again after the database has lost the end of its log, and ends those that
    /// are gone with it. One whose revocation was lost stays revoked on this node.
    pub(crate) async fn reread_credentials(&self) -> Result<(), Error> {
        // Before the read: one that is made meanwhile is not taken for lost.
        let mut gone = self.0.credentials.standing();
        let tokens = self.0.store.tokens().await?;
        gone.retain(|id| !tokens.iter().any(|(token, _)| token.id == *id));
        self.0.credentials.learn(tokens);
        gone.into_iter().for_each(|id| self.0.credentials.end(id));
        Ok(())
    }
}

pub(crate) fn hash(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}
