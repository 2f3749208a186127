//! What a workflow keeps, and what earlier runs have kept.

use folkmoot_core::{NewRecord, RecordQuery, RecordView, Refusal};
use folkmoot_store::Store;
use serde::Serialize;

use super::{Ctx, canonical, digest_of};
use crate::Failure;

impl Ctx {
    /// As [`Ctx::emit`], and keeps records with the event, in the same transaction: all of it,
    /// once, or nothing. The payload must be an object, and has no member `records`: that is where
    /// the log says what was kept.
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

    /// Some records of runs of whoever started this one, as they were when this was first called.
    /// Nobody else's: what a workflow keeps may be a model's words, and whoever chose that model
    /// would speak in other people's runs.
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
