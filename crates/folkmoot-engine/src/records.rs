//! Reading the records that workflows have kept.

use folkmoot_core::{Principal, RecordQuery, RecordView, run::RunSummary};
use folkmoot_store::{Error, Page, RunSummaryQuery, Store};

use crate::Engine;

impl Engine {
    /// The matching records of runs that `principal` may see. Agents see those of their own runs.
    pub async fn records(&self, principal: &Principal, mut query: RecordQuery) -> Result<Vec<RecordView>, Error> {
        if !principal.role.sees_everything() {
            query.initiated_by = Some(principal.name.clone());
        }
        self.0.store.records(query).await
    }

    /// A page of summaries of the runs that `principal` may see.
    pub async fn run_summaries(
        &self,
        principal: &Principal,
        mut query: RunSummaryQuery,
    ) -> Result<Page<RunSummary>, Error> {
        if !principal.role.sees_everything() {
            query.initiated_by = Some(principal.name.clone());
        }
        self.0.store.run_summaries(query).await
    }
}
