//! Plans.

use std::time::Duration;

use folkmoot_core::{GateId, RunId};
use reqwest::Method;
use serde::Serialize;

use super::{ANSWER_TIMEOUT, Client, Error};
use crate::wire::{ExportPlan, Plan, PlanList, PlanQuery, StartPlan};

#[derive(Serialize)]
struct WaitPlan<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a GateId>,
    timeout_ms: u64,
}

impl Client {
    /// Starts a plan.
    pub async fn start_plan(&self, plan: &StartPlan, idempotency_key: Option<&str>) -> Result<Plan, Error> {
        self.call(Method::POST, "/v1/plans", plan, idempotency_key).await
    }

    /// One plan, with its result.
    pub async fn plan(&self, id: &RunId) -> Result<Plan, Error> {
        self.get(&format!("/v1/plans/{id}"), &()).await
    }

    /// A page of plans.
    pub async fn plans(&self, query: &PlanQuery) -> Result<PlanList, Error> {
        self.get("/v1/plans", query).await
    }

    /// Waits until the plan waits at another gate than `after` or is over, for at most `timeout`
    /// (the server allows a minute). Then it returns the plan, whatever its state.
    pub async fn wait_plan(&self, id: &RunId, after: Option<&GateId>, timeout: Duration) -> Result<Plan, Error> {
        let wait = WaitPlan { after, timeout_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX) };
        let request = self.request(Method::GET, &format!("/v1/plans/{id}/wait")).query(&wait);
        self.json(request.timeout(timeout + ANSWER_TIMEOUT)).await
    }

    /// A plan as Markdown or as HTML.
    pub async fn export_plan(&self, id: &RunId, as_what: &ExportPlan) -> Result<String, Error> {
        let request = self.request(Method::GET, &format!("/v1/plans/{id}/export")).query(as_what);
        let answer = self.send(request).await?;
        answer.text().await.map_err(|error| self.unreachable(&error))
    }
}
