//! Which secret belongs to whom. All of them are in memory, because every request asks.

use std::{
    collections::{HashMap, HashSet},
    sync::RwLock,
};

use folkmoot_core::{Principal, TokenId, token::Token};
use folkmoot_store::{Error, Store};

use crate::{
    Engine,
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

/// Only ever grows: a token never changes its holder, and once revoked it stays so. So it does not matter in which order
/// this node hears of tokens, and what was read before a revocation cannot undo it.
#[derive(Debug, Default)]
pub(crate) struct Credentials(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    tokens: HashMap<[u8; 32], Credential>,
    revoked: HashSet<TokenId>,
}

impl Credentials {
    /// Adds tokens with the hashes of their secrets, as a transaction has left them or as they were read.
    pub(crate) fn learn(&self, tokens: impl IntoIterator<Item = (Token, [u8; 32])>) {
        let mut known = write(&self.0);
        for (Token { id, principal, revoked_at, .. }, hash) in tokens {
            if revoked_at.is_some() {
                known.revoked.insert(id.clone());
            }
            known.tokens.entry(hash).or_insert(Credential { principal, token: id });
        }
    }

    /// Ends a token that was revoked.
    pub(crate) fn end(&self, token: TokenId) {
        write(&self.0).revoked.insert(token);
    }

    fn of(&self, hash: &[u8; 32]) -> Option<Credential> {
        let known = read(&self.0);
        known.tokens.get(hash).filter(|credential| !known.revoked.contains(&credential.token)).cloned()
    }
}

impl Engine {
    /// Whom a token's secret names. The secret itself is nowhere: what is compared is its hash.
    pub fn authenticate(&self, secret: &str) -> Option<Credential> {
        self.0.credentials.of(&hash(secret))
    }

    /// Reads the tokens again, after one was made or revoked on another node.
    pub(crate) async fn reload_credentials(&self) -> Result<(), Error> {
        let tokens = self.0.store.tokens().await?;
        self.0.credentials.learn(tokens);
        Ok(())
    }
}

pub(crate) fn hash(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}
