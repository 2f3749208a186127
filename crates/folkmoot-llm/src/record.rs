//! Recordings of calls, for inspection and replay.

use std::{
    fmt::Debug,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_core::Digest;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest};

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCallRecord {
    /// The digest of the request, which identifies the call.
    pub call: Digest,
    pub request: ModelRequest,
    pub outcome: CallOutcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// The answer, with the bytes that were sent.
    Answered(ModelAnswer),
    Failed(ModelFailure),
}

impl ModelCallRecord {
    pub fn new(request: &ModelRequest, outcome: &Result<ModelAnswer, ModelFailure>) -> Self {
        let outcome = match outcome {
            Ok(answer) => CallOutcome::Answered(answer.clone()),
            Err(failure) => CallOutcome::Failed(failure.clone()),
        };
        Self { call: request.digest(), request: request.clone(), outcome }
    }
}

/// A destination for recordings.
pub trait Recorder: Debug + Send + Sync {
    /// Stores one recording. If that fails, the answer is not returned either.
    fn keep(&self, recording: ModelCallRecord) -> io::Result<()>;
}

/// In memory, for a journal.
impl Recorder for Mutex<Vec<ModelCallRecord>> {
    fn keep(&self, recording: ModelCallRecord) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(recording);
        Ok(())
    }
}

/// A file with one recording per line, for [`Replay`](crate::Replay).
#[derive(Debug)]
pub struct JsonLines(Mutex<File>);

impl JsonLines {
    /// Appends to the file, and creates it if necessary. Only its owner may read it, because
    /// prompts are confidential; a file that others can read is refused.
    pub fn append(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        #[cfg(unix)]
        if std::os::unix::fs::PermissionsExt::mode(&file.metadata()?.permissions()) & 0o077 != 0 {
            let why = format!("others can read it: run `chmod 600 {}`, or name another file", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Ok(Self(Mutex::new(file)))
    }
}

impl Recorder for JsonLines {
    fn keep(&self, recording: ModelCallRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(&recording)?;
        line.push(b'\n');
        // A single write, so that a line is complete or absent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

#[derive(Debug)]
pub struct RecordedModel {
    pub model: Arc<dyn Model>,
    pub recorder: Arc<dyn Recorder>,
}

impl Model for RecordedModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            let outcome = self.model.ask(request, hear).await;
            self.recorder.keep(ModelCallRecord::new(request, &outcome)).map_err(|error| {
                let detail = format!("the call was made and cannot be recorded: {error}");
                ModelFailure::new("recording", FailureKind::Misconfigured, detail)
            })?;
            outcome
        })
    }
}
