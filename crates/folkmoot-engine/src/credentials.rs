//! Which secret belongs to whom. All of them are in memory, because every request asks.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};

use folkmoot_core::Principal;
use folkmoot_store::{Error, Store};

use crate::Engine;

#[derive(Debug, Default)]
pub(crate) struct Credentials(RwLock<HashMap<[u8; 32], Principal>>);

impl Engine {
    /// Whom a token's secret names. The secret itself is nowhere: what is compared is its hash.
    pub fn authenticate(&self, secret: &str) -> Option<Principal> {
        let known = self.0.credentials.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&hash(secret)).cloned()
    }

    /// Reads the tokens again, after one was made or revoked here or on another node.
    pub(crate) async fn reload_credentials(&self) -> Result<(), Error> {
        let tokens = self.0.store.tokens().await?;
        let valid = tokens.into_iter().filter(|(token, _)| token.revoked_at.is_none());
        let valid = valid.map(|(token, hash)| (hash, token.principal)).collect();
        *self.0.credentials.0.write().unwrap_or_else(PoisonError::into_inner) = valid;
        Ok(())
    }
}

pub(crate) fn hash(secret: &str) -> [u8; 32] {
    *blake3::hash(secret.as_bytes()).as_bytes()
}
