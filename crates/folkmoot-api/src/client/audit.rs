//! The log.

use serde::Serialize;

use super::{Client, Error};
use crate::wire::{AuditPage, Verification};

#[derive(Serialize)]
pub(super) struct After {
    pub(super) after: u64,
    pub(super) limit: u32,
}

impl Client {
    /// The next `limit` events of the log after `after`, with their hashes.
    pub async fn audit(&self, after: u64, limit: u32) -> Result<AuditPage, Error> {
        self.get("/v1/audit", &After { after, limit }).await
    }

    /// Has the server verify the whole log and compare every row with it.
    pub async fn verify(&self) -> Result<Verification, Error> {
        // A long log takes longer than other answers.
        self.json(self.request(reqwest::Method::GET, "/v1/audit/verify")).await
    }
}
