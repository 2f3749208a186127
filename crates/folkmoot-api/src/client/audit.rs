//! The log: reading, verifying, receipts, and erasing content.

use folkmoot_core::{Digest, GateId, TokenId};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

use super::{Client, Error};
use crate::wire::{AuditPage, Erase, Erased, Verification};

#[derive(Serialize)]
pub(super) struct AfterParams {
    pub(super) after: u64,
    pub(super) limit: u32,
}

impl Client {
    /// The next `limit` events of the log after `after`, with their hashes.
    pub async fn audit(&self, after: u64, limit: u32) -> Result<AuditPage, Error> {
        self.get("/v1/audit", &AfterParams { after, limit }).await
    }

    /// Like [`Client::audit`], but only events that one token caused. A page without entries is not
    /// necessarily the end of the log.
    pub async fn audit_of_token(&self, token: &TokenId, after: u64, limit: u32) -> Result<AuditPage, Error> {
        let query = [("token_id", token.to_string()), ("after", after.to_string()), ("limit", limit.to_string())];
        self.get("/v1/audit", &query).await
    }

    /// Lets the server verify the whole log and compare every row with it.
    pub async fn verify(&self) -> Result<Verification, Error> {
        // Without a timeout, because a long log takes longer than other requests.
        self.json(self.request(reqwest::Method::GET, "/v1/audit/verify")).await
    }

    /// A signed checkpoint of the log, exactly as it was signed.
    pub async fn checkpoint(&self) -> Result<Value, Error> {
        self.get("/v1/audit/checkpoint", &()).await
    }

    /// The server's public key, as PEM. It verifies checkpoints and receipts.
    pub async fn audit_key(&self) -> Result<String, Error> {
        let answer = self.send(self.request(Method::GET, "/v1/audit/key").timeout(super::ANSWER_TIMEOUT)).await?;
        answer.text().await.map_err(|error| self.unreachable(&error))
    }

    /// A signed receipt of a gate, exactly as it was signed.
    pub async fn receipt(&self, gate: &GateId) -> Result<Value, Error> {
        self.get(&format!("/v1/gates/{gate}/receipt"), &()).await
    }

    /// Erases content irrevocably.
    pub async fn erase(&self, digest: &Digest, reason: &Erase) -> Result<Erased, Error> {
        self.call(Method::DELETE, &format!("/v1/artifacts/{digest}"), reason, None).await
    }

    /// Erases everything that a decided gate has shown.
    pub async fn erase_gate(&self, gate: &GateId, reason: &Erase) -> Result<Erased, Error> {
        self.call(Method::DELETE, &format!("/v1/gates/{gate}/contents"), reason, None).await
    }
}
