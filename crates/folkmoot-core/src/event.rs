//! Events, as the log stores them.

mod kind;

use std::{borrow::Cow, sync::Arc};

pub use kind::EventKind;

use crate::{CommandId, Digest, Name, SessionId, Timestamp, TokenId};

/// Something that happened, without its position in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it happened to: a gate's, question's or halt's id, `run:…`, `token:…`.
    pub stream: Arc<str>,
    /// Counts the stream's events, from 1.
    pub stream_seq: u64,
    /// `noun.verb`.
    pub kind: Cow<'static, str>,
    /// The version of the payload's format.
    pub version: u32,
    /// The principal that did it, or `system`.
    pub actor: Name,
    /// The agent that the principal spoke for. For events of a workflow, who started the run.
    pub on_behalf_of: Option<Name>,
    pub session: Option<SessionId>,
    /// The command that caused it.
    pub command_id: CommandId,
    /// When the command was judged.
    pub at: Timestamp,
    /// JSON; exactly these bytes are hashed.
    pub payload: String,
    /// The token that was sent with the command. `None` for what Folkmoot and its workflows do, and
    /// in events that were written before version 12 of the schema.
    pub token_id: Option<TokenId>,
}

/// A fact at its position in the log. Each event carries the hash of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counts from 1, without gaps.
    pub position: u64,
    pub fact: Fact,
    /// The hash of the event before; zero for the first.
    pub prev_hash: Digest,
    pub hash: Digest,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The position of the last event; zero if there is none.
    pub position: u64,
    /// The hash of the last event; zero if there is none.
    pub hash: Digest,
}

impl Head {
    /// The head of an empty log.
    pub const START: Head = Head { position: 0, hash: Digest::ZERO };
}

/// An event that cannot follow the ones before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CorruptLog(pub String);

impl CorruptLog {
    /// Parses a fact's payload.
    pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(fact: &'a Fact) -> Result<T, CorruptLog> {
        serde_json::from_str(&fact.payload)
            .map_err(|error| CorruptLog(format!("{} has a payload that does not parse: {error}", fact.kind)))
    }

    /// Fails unless the first fact of a stream has the number `seq`.
    pub(crate) fn unless_first(first: &Fact, seq: u64) -> Result<(), CorruptLog> {
        if first.stream_seq == seq {
            return Ok(());
        }
        Err(CorruptLog(format!("begins with event {} of the stream", first.stream_seq)))
    }

    /// Fails unless the fact directly follows `seq`, the last known event of its stream.
    pub(crate) fn unless_next(fact: &Fact, seq: u64) -> Result<(), CorruptLog> {
        if fact.stream_seq == seq + 1 {
            return Ok(());
        }
        Err(CorruptLog(format!("event {} of the stream follows event {seq}", fact.stream_seq)))
    }
}
