//! The journal: the recorded steps of one run, each under a stable key.
//!
//! ```text
//!   ─▶ Begun ──▶ Done · Failed · Failing         a `once` step before its effect; an agent's step
//!   ─▶ Failing ──▶ Begun · Done · Failed         an attempt failed, and there will be another
//!   ─▶ Done                                      its result stands, and it is never executed again
//!   ─▶ Waiting                                   on a gate, a question, another run, or the clock
//!   ─▶ Failed                                    whatever it was, the rules refused it
//! ```
//!
//! A result never changes. The kind and the input of an entry never change either, so a replay of a
//! run with different code is refused.

mod record;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

pub use record::{Fence, JournalWrite, NewEntry, Write};
pub(crate) use record::{RecordOutcome, must_be_writer, record};

use crate::{Digest, GateId, Name, QuestionId, RunId, Timestamp};

/// The name of a journal entry, the same in every execution: `draft`, `critique.2/attack`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EntryKey(Arc<str>);

crate::openapi!(
    EntryKey,
    ["The name of a journal entry. No control character, and no space at its ends."],
    crate::openapi::text(r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$", KEY_BYTES_MAX)
);

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 256;

/// The text is not a valid key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no key of a step: use 1 to {KEY_BYTES_MAX} bytes without control characters or space at its ends")]
pub struct BadKey(String);

impl EntryKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntryKey {
    type Err = BadKey;
    fn from_str(text: &str) -> Result<Self, BadKey> {
        let fits = (1..=KEY_BYTES_MAX).contains(&text.len());
        if fits && text.trim() == text && !text.chars().any(char::is_control) {
            return Ok(Self(text.into()));
        }
        Err(BadKey(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for EntryKey {
    type Error = BadKey;
    fn try_from(text: String) -> Result<Self, BadKey> {
        text.parse()
    }
}

impl From<EntryKey> for String {
    fn from(key: EntryKey) -> String {
        key.0.as_ref().to_owned()
    }
}

impl fmt::Display for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// One entry of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Stable, and unique in its run.
    pub key: EntryKey,
    pub kind: EntryKind,
    /// Which call it was in its branch of the workflow, from 1; 0 if that is unknown.
    pub ordinal: u32,
    /// The digest of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Digest>,
    /// The agent that did the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Name>,
    #[serde(flatten)]
    pub state: EntryState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was first tried.
    pub began_at: Timestamp,
    /// When the entry was last written.
    pub at: Timestamp,
}

vocabulary! {
    /// What an entry records.
    pub enum EntryKind {
        /// Work that may be repeated if it is unknown whether it was done.
        Step = "step",
        /// Work that must not be repeated. The intent is recorded first.
        Once = "once",
        /// A gate.
        Gate = "gate",
        /// A question.
        Question = "question",
        /// A pause.
        Sleep = "sleep",
        /// Another run.
        Run = "run",
        /// An event that the workflow emitted.
        Event = "event",
        /// A reading of the clock.
        Now = "now",
        /// A random number.
        Random = "random",
    }
}

vocabulary! {
    /// How far a journal entry is, in one word.
    pub enum EntryStatus {
        /// It is about to be done; or it was done, but its result could not be recorded.
        Begun = "begun",
        /// An attempt failed, and it is tried again.
        Failing = "failing",
        /// It is done.
        Done = "done",
        /// It failed for good.
        Failed = "failed",
        /// It waits for something outside the journal, such as a gate.
        Waiting = "waiting",
    }
}

/// How far an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum EntryState {
    /// It is about to be done; or it was done, but its result could not be recorded.
    Begun,
    /// An attempt failed, and it is tried again.
    Failing {
        /// The last error.
        error: StepError,
        /// The next attempt is not before this moment.
        retry_at: Timestamp,
    },
    /// It is done.
    Done {
        /// The digest of its result. The result is JSON, and an artifact.
        result: Digest,
        /// The length of the result, and of the records that were kept with it.
        bytes: u64,
    },
    /// It failed for good.
    Failed {
        /// The last error.
        error: StepError,
    },
    /// It waits for something outside the journal, such as a gate.
    Waiting(Waits),
}

/// What an entry waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waits {
    /// This gate.
    Gate(GateId),
    /// This question.
    Question(QuestionId),
    /// This run.
    Run(RunId),
    /// This moment.
    Until(Timestamp),
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct StepError {
    /// The kind of error, as a code. A retry policy looks at it.
    pub code: String,
    pub message: String,
    /// Set if it is an outage of this provider. The step waits until the provider is back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

impl StepError {
    /// An error that is not an outage of a provider.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), provider: None }
    }
}

impl Entry {
    /// The length of its result and its records; zero if there is none yet.
    pub fn bytes(&self) -> u64 {
        match &self.state {
            EntryState::Done { bytes, .. } => *bytes,
            EntryState::Begun | EntryState::Failing { .. } | EntryState::Failed { .. } | EntryState::Waiting(_) => 0,
        }
    }

    /// The digest of its result.
    pub fn result(&self) -> Option<Digest> {
        match &self.state {
            EntryState::Done { result, .. } => Some(*result),
            EntryState::Begun | EntryState::Failing { .. } | EntryState::Failed { .. } | EntryState::Waiting(_) => None,
        }
    }

    /// How a call under the same key differs from this entry; `None` if it does not. An `ordinal`
    /// of 0 is unknown and is not compared.
    pub fn differs_from(&self, kind: EntryKind, input: Option<Digest>, ordinal: u32) -> Option<String> {
        if self.kind != kind {
            return Some(format!("was a {} and is now a {kind}", self.kind));
        }
        if self.ordinal != ordinal && ordinal != 0 {
            return Some(format!("was call {} of its branch and is now call {ordinal}", self.ordinal));
        }
        (self.input != input).then(|| "was given something else".to_owned())
    }

    pub fn progress(&self) -> EntryStatus {
        match &self.state {
            EntryState::Begun => EntryStatus::Begun,
            EntryState::Failing { .. } => EntryStatus::Failing,
            EntryState::Done { .. } => EntryStatus::Done,
            EntryState::Failed { .. } => EntryStatus::Failed,
            EntryState::Waiting(_) => EntryStatus::Waiting,
        }
    }
}
