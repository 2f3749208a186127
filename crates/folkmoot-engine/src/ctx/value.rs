//! Time and random numbers that are the same in every pass.

use folkmoot_core::{
    Timestamp,
    journal::{EntryKind, Write},
};
use serde::{Serialize, de::DeserializeOwned};

use super::Ctx;
use crate::Failure;

impl Ctx {
    /// The time of the first call.
    pub async fn now(&self, key: impl AsRef<str>) -> Result<Timestamp, Failure> {
        self.value(EntryKind::Now, key.as_ref(), || self.pass.engine.now()).await
    }

    /// 64 random bits, drawn at the first call.
    pub async fn random(&self, key: impl AsRef<str>) -> Result<u64, Failure> {
        self.value(EntryKind::Random, key.as_ref(), || self.pass.engine.0.host.random() as u64).await
    }

    async fn value<T>(&self, kind: EntryKind, key: &str, draw: impl FnOnce() -> T) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
    {
        let (call, known) = self.call(kind, key, None).await;
        if let Some(line) = known {
            let erased = || Failure::new("erased", format!("the result of {} was erased", line.entry.key));
            return Ok(serde_json::from_str(line.result.as_deref().ok_or_else(erased)?)?);
        }
        let value = draw();
        let write = Write::Done(serde_json::to_string(&value)?);
        self.pass.record(&call, None, self.pass.engine.now(), write).await?;
        Ok(value)
    }
}
