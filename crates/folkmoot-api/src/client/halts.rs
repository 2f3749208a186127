//! Clearance and halts.

use std::time::Duration;

use folkmoot_core::{HaltId, clearance::ReleaseReason};
use reqwest::Method;

use super::{ANSWER_TIMEOUT, Client, Error, patiently};
use crate::wire::{Clearance, ClearanceFor, ClearanceWaited, Halt, HaltStatus, RaiseHalt};

impl Client {
    /// Whether an agent may work.
    pub async fn clearance(&self, agent: &ClearanceFor) -> Result<Clearance, Error> {
        self.get("/v1/clearance", agent).await
    }

    /// Waits until an agent may work, for at most `timeout` (the server allows a minute).
    pub async fn wait_clearance(&self, agent: &ClearanceFor, timeout: Duration) -> Result<ClearanceWaited, Error> {
        let timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        let wait = ClearanceFor { timeout_ms, ..agent.clone() };
        let request = self.request(Method::GET, "/v1/clearance/wait").query(&wait);
        self.json(request.timeout(timeout + ANSWER_TIMEOUT)).await
    }

    /// Waits until an agent may work or its question was denied, also across restarts of the
    /// server. `patience` is how long a server that cannot be reached is tried again.
    pub async fn cleared(&self, agent: &ClearanceFor, patience: Duration) -> Result<ClearanceWaited, Error> {
        patiently(patience, |round| async move {
            let waited = self.wait_clearance(agent, round).await?;
            Ok((waited.reason != ReleaseReason::Timeout).then_some(waited))
        })
        .await
    }

    /// Raises a halt.
    pub async fn raise_halt(&self, halt: &RaiseHalt, idempotency_key: Option<&str>) -> Result<Halt, Error> {
        self.call(Method::POST, "/v1/halts", halt, idempotency_key).await
    }

    /// Lifts a halt.
    pub async fn lift_halt(&self, id: &HaltId) -> Result<Halt, Error> {
        self.json(self.request(Method::DELETE, &format!("/v1/halts/{id}")).timeout(ANSWER_TIMEOUT)).await
    }

    /// Who is halted, and by what.
    pub async fn halts(&self) -> Result<HaltStatus, Error> {
        self.get("/v1/halts", &()).await
    }
}
