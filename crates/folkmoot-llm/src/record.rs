//! Recordings: every call as it was, so that it can be looked at, and asked again without a model.

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

/// One call of a model: its request and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelCallRecord {
    /// Which call it is: the digest of its request.
    pub call: Digest,
    /// What was asked.
    pub request: ModelRequest,
    /// What came of it.
    pub outcome: CallOutcome,
}

/// The answer or the failure of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// An answer, with the bytes that were sent for it.
    Answered(ModelAnswer),
    /// None.
    Failed(ModelFailure),
}

impl ModelCallRecord {
    /// A recording of one call.
    pub fn new(request: &ModelRequest, outcome: &Result<ModelAnswer, ModelFailure>) -> Self {
        let outcome = match outcome {
            Ok(answer) => CallOutcome::Answered(answer.clone()),
            Err(failure) => CallOutcome::Failed(failure.clone()),
        };
        Self { call: request.digest(), request: request.clone(), outcome }
    }
}

/// Somewhere to keep recordings.
pub trait Recorder: Debug + Send + Sync {
    /// Keeps one. What cannot be kept is an error, and then the answer is not given either.
    fn keep(&self, recording: ModelCallRecord) -> io::Result<()>;
}

/// In memory, for whoever puts them in a journal afterwards.
impl Recorder for Mutex<Vec<ModelCallRecord>> {
    fn keep(&self, recording: ModelCallRecord) -> io::Result<()> {
        self.lock().unwrap_or_else(PoisonError::into_inner).push(recording);
        Ok(())
    }
}

/// A file with one recording in each line, as [`Replay`](crate::Replay) reads it.
#[derive(Debug)]
pub struct JsonLines(Mutex<File>);

impl JsonLines {
    /// Adds to the file, and makes it where it is not there. Only its owner can read it: prompts
    /// are nobody else's business. One that is there and that others can read is refused.
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
        // One write, so that a line is there whole or not at all while the process lives.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line)
    }
}

/// A model whose every call is recorded.
#[derive(Debug)]
pub struct RecordedModel {
    /// Who is asked.
    pub model: Arc<dyn Model>,
    /// Where the calls go.
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
