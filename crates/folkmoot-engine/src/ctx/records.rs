//! Records: what a workflow keeps for queries, and what earlier runs have kept.

use folkmoot_core::{NewRecord, RecordQuery, RecordView, Refusal};
use folkmoot_store::Store;
use serde::Serialize;

use super::{Ctx, canonical, digest_of};
use crate::Failure;

impl Ctx {
    /// Like [`Ctx::emit`], and keeps records in the same transaction: all of it, exactly once, or
    /// nothing. The payload must be an object without a member `records`, because the log lists
    /// there what was kept.
    pub async fn keep<R>(
        &self,
        key: impl AsRef<str>,
        kind: &str,
        payload: &impl Serialize,
        records: Vec<R>,
    ) -> Result<(), Failure>
    where
        R: TryInto<NewRecord, Error: Into<Refusal>>,
    {
        let records = records.into_iter().map(|record| record.try_into().map_err(Into::into));
        let records = records.collect::<Result<Vec<NewRecord>, Refusal>>();
        let records = records.map_err(|refusal| Failure::new(refusal.code(), refusal.to_string()))?;
        let (given, payload) = (canonical(payload), serde_json::to_string(payload)?);
        self.tell(key.as_ref(), digest_of(&(kind, given, &records)), kind, payload, records).await
    }

    /// Records of runs of this run's initiator, as they were when this was first called. Records of
    /// other people's runs are excluded: they may contain a model's words, and the person who chose
    /// that model could then influence this run.
    pub async fn records(&self, key: impl Into<String>, query: RecordQuery) -> Result<Vec<RecordView>, Failure> {
        let engine = self.pass.engine.clone();
        let query = RecordQuery { initiated_by: Some(self.pass.run.start.initiator.clone()), ..query };
        let given = query.clone();
        let read = move || {
            let (engine, query) = (engine.clone(), query.clone());
            async move {
                let found = engine.0.store.records(query).await;
                found.map_err(|error| Failure::new("records", error.to_string()))
            }
        };
        self.step(key, read).input(&given).await
    }
}
