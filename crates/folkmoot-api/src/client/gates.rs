//! Gates.

use std::time::Duration;

use folkmoot_core::{GateId, gate::Choice};
use futures_util::{Stream, StreamExt};
use reqwest::{Method, header::ACCEPT};

use super::{ANSWER_TIMEOUT, Client, Error, feed, patiently};
use crate::wire::{Amend, Cancel, Extend, Gate, GateList, GateListParams, OpenGate, Verdict, WaitMany, Waited};

impl Client {
    /// Opens a gate.
    pub async fn open_gate(&self, gate: &OpenGate, idempotency_key: Option<&str>) -> Result<Gate, Error> {
        self.call(Method::POST, "/v1/gates", gate, idempotency_key).await
    }

    /// One gate, with the content of its artifacts.
    pub async fn gate(&self, id: &GateId) -> Result<Gate, Error> {
        self.get(&format!("/v1/gates/{id}"), &()).await
    }

    /// A page of gates.
    pub async fn gates(&self, query: &GateListParams) -> Result<GateList, Error> {
        self.get("/v1/gates", query).await
    }

    /// Changes the content of a pending gate.
    pub async fn amend_gate(&self, id: &GateId, change: &Amend, idempotency_key: Option<&str>) -> Result<Gate, Error> {
        self.call(Method::PATCH, &format!("/v1/gates/{id}"), change, idempotency_key).await
    }

    /// Decides on a gate: approve, reject, adjust or pause.
    pub async fn decide(
        &self,
        id: &GateId,
        choice: Choice,
        verdict: &Verdict,
        idempotency_key: Option<&str>,
    ) -> Result<Gate, Error> {
        self.call(Method::POST, &format!("/v1/gates/{id}/{choice}"), verdict, idempotency_key).await
    }

    /// Gives a gate more time.
    pub async fn extend_gate(
        &self,
        id: &GateId,
        extend: &Extend,
        idempotency_key: Option<&str>,
    ) -> Result<Gate, Error> {
        self.call(Method::POST, &format!("/v1/gates/{id}/extend"), extend, idempotency_key).await
    }

    /// Cancels a gate.
    pub async fn cancel_gate(
        &self,
        id: &GateId,
        cancel: &Cancel,
        idempotency_key: Option<&str>,
    ) -> Result<Gate, Error> {
        self.call(Method::POST, &format!("/v1/gates/{id}/cancel"), cancel, idempotency_key).await
    }

    /// Waits for a decision for at most `timeout` (the server allows a minute), then returns the
    /// gate, decided or not.
    pub async fn wait_gate(&self, id: &GateId, timeout: Duration) -> Result<Gate, Error> {
        self.wait(&format!("/v1/gates/{id}/wait"), timeout).await
    }

    /// Waits until the gate is decided, also across restarts of the server. `patience` is how long
    /// a server that cannot be reached is tried again.
    pub async fn decided(&self, id: &GateId, patience: Duration) -> Result<Gate, Error> {
        patiently(patience, |round| async move {
            let gate = self.wait_gate(id, round).await?;
            Ok(gate.decision.is_some().then_some(gate))
        })
        .await
    }

    /// Waits for many gates on one connection, until the first decision or until all are decided.
    pub async fn wait_gates(&self, wait: &WaitMany) -> Result<Waited, Error> {
        let patience = Duration::from_millis(wait.timeout_ms.unwrap_or(30_000)) + ANSWER_TIMEOUT;
        self.json(self.request(Method::POST, "/v1/gates/wait").json(wait).timeout(patience)).await
    }

    /// Returns each of these gates when it is decided, on one connection. Ends when all are
    /// decided.
    pub async fn stream_gates(
        &self,
        ids: Vec<GateId>,
    ) -> Result<impl Stream<Item = Result<Gate, Error>> + use<>, Error> {
        let wait = WaitMany { ids, ..WaitMany::default() };
        let request = self.request(Method::POST, "/v1/gates/wait").header(ACCEPT, "text/event-stream").json(&wait);
        let client = self.clone();
        let messages = feed::messages(self.send(request).await?, self.clone());
        Ok(messages.filter_map(move |message| {
            let gate = match message {
                Ok(message) if message.event.as_deref() == Some("gate") => Some(
                    serde_json::from_str(&message.data.unwrap_or_default()).map_err(|e| client.foreign(e.to_string())),
                ),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            };
            std::future::ready(gate)
        }))
    }
}
