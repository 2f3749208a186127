//! A checkpoint: the statement that the log had this hash at this position at this moment. Signed
//! and kept elsewhere, it reveals what the hash chain alone cannot: an end that is missing, and a
//! past that was rewritten and hashed again.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::{Digest, Head, Timestamp};

/// The name of the log. There is only one.
pub const LOG: &str = "main";

/// What the server states about the log. Hashes are 64 hexadecimal digits, as in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub at: Timestamp,
    /// The hash of the log's first event, which tells logs apart.
    #[serde(with = "hex")]
    pub first: Digest,
    /// The hash of the event at `position`.
    #[serde(with = "hex")]
    pub hash: Digest,
    pub log: String,
    /// Where the log ended.
    pub position: u64,
    #[serde(rename = "type")]
    pub kind: StatementKind,
}

vocabulary! {
    /// What the server signs. The word is in what is signed, so that none passes for another.
    pub enum StatementKind {
        /// A statement about the log.
        Checkpoint = "folkmoot.checkpoint.v1",
        /// A statement about a gate.
        Receipt = "folkmoot.receipt.v1",
    }
}

/// The hashes of a log that are compared with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSummary {
    /// The hash of its first event.
    pub first: Option<Digest>,
    /// The hash of its event at the checkpoint's position.
    pub there: Option<Digest>,
    /// The position of its last event.
    pub end: u64,
}

/// Why a log does not match a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says it")]
pub enum CheckpointMismatch {
    #[error("this is no checkpoint but something else that the server signed")]
    NoCheckpoint,
    #[error("this checkpoint is of the log {0:?}, and this is the log {LOG:?}")]
    OtherName(String),
    #[error(
        "this checkpoint is of another log, which begins with {}; this one begins with {}. If it should be the same log, then \
         it was rewritten from its first event on", .theirs.hex(), .ours.hex()
    )]
    OtherLog { theirs: Digest, ours: Digest },
    #[error(
        "the end is missing: at {at} the log had {position} events, and it now ends at {end}. It was cut off, or an older copy \
         was put in its place"
    )]
    EndMissing { at: Timestamp, position: u64, end: u64 },
    #[error("event {position} is missing, which was there at {at}")]
    EventMissing { at: Timestamp, position: u64 },
    #[error("the past was rewritten: event {position} now has the hash {}, and at {at} it was {}", .ours.hex(), .theirs.hex())]
    Rewritten { at: Timestamp, position: u64, theirs: Digest, ours: Digest },
}

impl Checkpoint {
    /// States where the log ends now.
    pub fn new(head: Head, first: Digest, at: Timestamp) -> Self {
        Self {
            at,
            first,
            hash: head.hash,
            log: LOG.to_owned(),
            position: head.position,
            kind: StatementKind::Checkpoint,
        }
    }

    /// Compares the checkpoint with a log.
    pub fn check(&self, seen: &LogSummary) -> Result<(), CheckpointMismatch> {
        let Checkpoint { at, position, .. } = *self;
        if self.kind != StatementKind::Checkpoint {
            return Err(CheckpointMismatch::NoCheckpoint);
        }
        if self.log != LOG {
            return Err(CheckpointMismatch::OtherName(self.log.clone()));
        }
        let ours = seen.first.unwrap_or(Digest::ZERO);
        if ours != self.first && seen.end > 0 {
            return Err(CheckpointMismatch::OtherLog { theirs: self.first, ours });
        }
        if position > seen.end {
            return Err(CheckpointMismatch::EndMissing { at, position, end: seen.end });
        }
        match seen.there {
            Some(ours) if ours == self.hash => Ok(()),
            Some(ours) => Err(CheckpointMismatch::Rewritten { at, position, theirs: self.hash, ours }),
            None if position == 0 => Ok(()),
            None => Err(CheckpointMismatch::EventMissing { at, position }),
        }
    }
}

/// A digest as 64 hexadecimal digits.
pub(crate) mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::Digest;

    pub(crate) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.hex())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Digest::from_hex(&text).ok_or_else(|| de::Error::custom("a hash is 64 hexadecimal digits in lower case"))
    }
}
