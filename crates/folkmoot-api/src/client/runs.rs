//! Runs, and the steps of runs that an outside agent executes.

use folkmoot_core::RunId;
use reqwest::{Method, StatusCode};

use super::{Client, Error, audit::AfterParams};
use crate::wire::{
    AuditPage, EndRun, JournalEntry, JournalListParams, JournalPage, RecordStep, ResumeRun, Run, RunList,
    RunListParams, StartRun, WithReason,
};

impl Client {
    /// Starts a run.
    pub async fn start_run(&self, run: &StartRun, idempotency_key: Option<&str>) -> Result<Run, Error> {
        self.call(Method::POST, "/v1/runs", run, idempotency_key).await
    }

    /// One run, with its input, its output and what it waits for.
    pub async fn run(&self, id: &RunId) -> Result<Run, Error> {
        self.get(&format!("/v1/runs/{id}"), &()).await
    }

    /// A page of runs.
    pub async fn runs(&self, query: &RunListParams) -> Result<RunList, Error> {
        self.get("/v1/runs", query).await
    }

    /// A page of a run's journal.
    pub async fn journal(&self, id: &RunId, query: &JournalListParams) -> Result<JournalPage, Error> {
        self.get(&format!("/v1/runs/{id}/journal"), query).await
    }

    /// The next `limit` events after `after` of a run, of its gates and of its questions.
    pub async fn run_events(&self, id: &RunId, after: u64, limit: u32) -> Result<AuditPage, Error> {
        self.get(&format!("/v1/runs/{id}/events"), &AfterParams { after, limit }).await
    }

    /// Ends a run, in any state.
    pub async fn cancel_run(&self, id: &RunId, why: &WithReason, idempotency_key: Option<&str>) -> Result<Run, Error> {
        self.call(Method::POST, &format!("/v1/runs/{id}/cancel"), why, idempotency_key).await
    }

    /// Resumes a run that is stopped or waits for a model provider.
    pub async fn resume_run(&self, id: &RunId, idempotency_key: Option<&str>) -> Result<Run, Error> {
        self.call(Method::POST, &format!("/v1/runs/{id}/resume"), &ResumeRun {}, idempotency_key).await
    }

    /// Ends a run that you execute.
    pub async fn end_run(&self, id: &RunId, end: &EndRun, idempotency_key: Option<&str>) -> Result<Run, Error> {
        self.call(Method::POST, &format!("/v1/runs/{id}/end"), end, idempotency_key).await
    }

    /// Records a step of a run that you execute. The flag is true if this call recorded it, and
    /// false if the returned entry existed before.
    pub async fn record_step(
        &self,
        id: &RunId,
        step: &RecordStep,
        idempotency_key: Option<&str>,
    ) -> Result<(JournalEntry, bool), Error> {
        let path = format!("/v1/runs/{id}/steps");
        let answer = self.send(self.to_call(Method::POST, &path, step, idempotency_key)).await?;
        let is_new = answer.status() == StatusCode::CREATED;
        Ok((self.read(answer).await?, is_new))
    }
}
