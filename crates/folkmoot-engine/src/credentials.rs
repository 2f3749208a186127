//! Which secret belongs to which principal. Kept in memory, because every request needs it.
//!
//! A write with a revoked token is refused in its transaction. All other requests are judged by
//! what this node knows. It knows its own revocations at once, and those of other nodes from the
//! log, where a revocation precedes everything that happens after it. A node that has not heard
//! from the database for [`SILENCE_MAX`] answers nothing, and a revocation on a shared database is
//! acknowledged only after that time. So no node accepts a token after its revocation was
//! acknowledged.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::RwLock};

use folkmoot_core::{
    Digest, Event, Name, Principal, Refusal, TokenId, presence,
    token::{Token, TokenKind},
};
use folkmoot_store::{Error, Store};
use tokio::sync::watch;

use crate::{
    Caller, Engine,
    clearance::{LISTEN_AGAIN, SILENCE_MAX},
    lock::{read, write},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub principal: Principal,
    pub token: TokenId,
}

/// It only grows: a token never changes its owner, and a revoked token stays revoked. So the order
/// in which this node hears of tokens does not matter, and an older read cannot undo a revocation.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    known: RwLock<CredentialState>,
    /// How many tokens were revoked here.
    ended: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct CredentialState {
    by_hash: HashMap<[u8; 32], Credential>,
    /// Every known token, and whether it was revoked.
    revoked: HashMap<TokenId, bool>,
    kinds: HashMap<TokenId, TokenKind>,
}

impl Credentials {
    /// Adds tokens with the hashes of their secrets.
    pub(crate) fn learn(&self, tokens: impl IntoIterator<Item = (Token, [u8; 32])>) {
        let mut known = write(&self.known);
        for (Token { id, principal, revoked_at, kind, .. }, hash) in tokens {
            known.kinds.insert(id.clone(), kind);
            let revoked = known.revoked.entry(id.clone()).or_default();
            if revoked_at.is_some() && !*revoked {
                *revoked = true;
                self.ended.send_modify(|ended| *ended += 1);
            }
            known.by_hash.entry(hash).or_insert(Credential { principal, token: id });
        }
    }

    /// Marks a token as revoked.
    pub(crate) fn end(&self, token: TokenId) {
        write(&self.known).revoked.insert(token, true);
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// The known tokens that are not revoked.
    fn standing(&self) -> Vec<TokenId> {
        let known = read(&self.known);
        known.revoked.iter().filter(|(_, revoked)| !**revoked).map(|(id, _)| id.clone()).collect()
    }

    /// Applies an event about a token. Returns `true` if it is unknown: then the tokens must be
    /// reloaded, because no event contains the hash of a secret.
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
    /// Finds the principal of a secret by its hash. The secret itself is not stored.
    pub fn authenticate(&self, secret: &str) -> Option<Credential> {
        self.0.credentials.of(&hash(secret))
    }

    /// Refuses a request that acts in a person's name without a command, unless its token shows
    /// that the person is present.
    pub fn must_show_person(&self, caller: &Caller) -> Result<(), Refusal> {
        let kind = caller.token.as_ref().and_then(|token| read(&self.0.credentials.known).kinds.get(token).copied());
        kind.map_or(Ok(()), |kind| presence::must_show_person(kind, caller.claims))
    }

    /// Whether any token names this principal, also one that was revoked.
    pub(crate) fn is_principal(&self, name: &Name) -> bool {
        read(&self.0.credentials.known).by_hash.values().any(|credential| credential.principal.name == *name)
    }

    /// Whether `secret` belongs to a token, valid or revoked.
    pub fn knows_token(&self, secret: &str) -> bool {
        read(&self.0.credentials.known).by_hash.contains_key(&hash(secret))
    }

    /// Refuses a token that any node revoked. Fails if this node cannot know, because it has not
    /// heard from the database. A caller without a token passes.
    pub async fn must_stand(&self, token: Option<&TokenId>) -> Result<(), Error> {
        let Some(token) = token else { return Ok(()) };
        let mut over = self.0.host.sleep(SILENCE_MAX);
        // Before the check, because what this node has heard is then in memory.
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
            // An error means that the engine has ended.
            if ended.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reloads the tokens after another node created one.
    pub(crate) async fn reload_credentials(&self) -> Result<(), Error> {
        let tokens = self.0.store.tokens().await?;
        self.0.credentials.learn(tokens);
        Ok(())
    }

    /// Reloads the tokens after the database lost the end of its log, and revokes those that are
    /// gone. One whose revocation was lost stays revoked on this node.
    pub(crate) async fn reread_credentials(&self) -> Result<(), Error> {
        // Before the read, so that a token created meanwhile does not count as lost.
        let mut gone = self.0.credentials.standing();
        let tokens = self.0.store.tokens().await?;
        gone.retain(|id| !tokens.iter().any(|(token, _)| token.id == *id));
        self.0.credentials.learn(tokens);
        gone.into_iter().for_each(|id| self.0.credentials.end(id));
        Ok(())
    }
}

pub(crate) fn hash(secret: &str) -> [u8; 32] {
    *Digest::of(secret.as_bytes()).as_bytes()
}
