//! Replay: answers from recordings instead of a model.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    io::{BufRead, BufReader, Read},
};

use folkmoot_core::Digest;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest,
    record::{CallOutcome, ModelCallRecord},
};

#[cfg(test)]
mod tests;

/// Returns recorded outcomes. A call that was recorded several times returns them in order. A call
/// that was not recorded, or not often enough, is a failure that says so.
pub struct Replay {
    calls: Mutex<HashMap<Digest, VecDeque<CallOutcome>>>,
}

/// The longest line; far more than a call needs.
const LINE_BYTES_MAX: u64 = 64 << 20;

impl Replay {
    /// From recordings, the oldest first.
    pub fn new(recordings: impl IntoIterator<Item = ModelCallRecord>) -> Self {
        let mut calls: HashMap<Digest, VecDeque<CallOutcome>> = HashMap::new();
        for recording in recordings {
            // The request identifies the call, not the digest in the file.
            calls.entry(recording.request.digest()).or_default().push_back(recording.outcome);
        }
        Self { calls: Mutex::new(calls) }
    }

    /// From a file of [`JsonLines`](crate::record::JsonLines). A last line that was cut off by a
    /// crash is an error with its number; remove the line to use the rest.
    pub fn from_json_lines(lines: impl Read) -> Result<Self, String> {
        let mut lines = BufReader::new(lines);
        let mut recordings = Vec::new();
        for number in 1.. {
            let mut line = Vec::new();
            let read = lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            match read.map_err(|error| format!("line {number} cannot be read: {error}"))? {
                0 => break,
                _ if line.trim_ascii().is_empty() => continue,
                _ => recordings.push(
                    serde_json::from_slice(&line).map_err(|error| format!("line {number} is no recording: {error}"))?,
                ),
            }
        }
        Ok(Self::new(recordings))
    }

    /// From the results of a run's steps, in recorded order: every recording, however deeply
    /// nested.
    pub fn from_journal<'a>(results: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut recordings = Vec::new();
        for result in results {
            collect(result, &mut recordings);
        }
        Self::new(recordings)
    }

    /// Drops failures of calls that also have an answer, for users who want answers rather than the
    /// same course.
    #[must_use]
    pub fn answers(self) -> Self {
        for outcomes in self.calls.lock().values_mut() {
            if outcomes.iter().any(|outcome| matches!(outcome, CallOutcome::Answered(_))) {
                outcomes.retain(|outcome| matches!(outcome, CallOutcome::Answered(_)));
            }
        }
        self
    }

    pub fn left(&self) -> usize {
        self.calls.lock().values().map(VecDeque::len).sum()
    }
}

fn collect(value: &Value, into: &mut Vec<ModelCallRecord>) {
    match value {
        Value::Object(map) if map.contains_key("call") && map.contains_key("outcome") => {
            // Other values with such keys are not recordings and are ignored.
            match ModelCallRecord::deserialize(value) {
                Ok(recording) => into.push(recording),
                Err(_) => map.values().for_each(|value| collect(value, into)),
            }
        }
        Value::Object(map) => map.values().for_each(|value| collect(value, into)),
        Value::Array(list) => list.iter().for_each(|value| collect(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Replay({} calls left)", self.left())
    }
}

impl Model for Replay {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            let call = request.digest();
            let outcome = self.calls.lock().get_mut(&call).and_then(VecDeque::pop_front);
            match outcome {
                Some(CallOutcome::Answered(answer)) => {
                    hear.piece(&answer.text);
                    Ok(answer)
                }
                Some(CallOutcome::Failed(failure)) => Err(failure),
                None => Err(ModelFailure::new("replay", FailureKind::NotRecorded, not_recorded(request, call))),
            }
        })
    }
}

fn not_recorded(request: &ModelRequest, call: Digest) -> String {
    let said = request.messages.last().map_or("", |message| message.text.as_str());
    let begin: String = said.chars().take(80).collect();
    format!("this call was not recorded, or not so often: {call}, which begins {begin:?}")
}
