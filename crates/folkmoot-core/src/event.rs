//! Facts, as the log keeps them.

mod kind;

use std::{borrow::Cow, sync::Arc};

pub use kind::EventKind;

use crate::{CommandId, Digest, Name, SessionId, Timestamp, TokenId};

/// Something that happened, before it has its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it happened to: a gate's, question's or halt's id, `run:…`, `token:…`.
    pub stream: Arc<str>,
    /// Counts the stream's events, from 1.
    pub stream_seq: u64,
    /// `noun.verb`.
    pub kind: Cow<'static, str>,
    /// Of the payload.
    pub version: u32,
    /// The principal, or `system`.
    pub actor: Name,
    /// The agent that the principal spoke for.
    pub on_behalf_of: Option<Name>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// What caused it.
    pub command_id: CommandId,
    /// When it was judged.
    pub at: Timestamp,
    /// JSON; exactly these bytes are hashed.
    pub payload: String,
    /// The token that was shown for the command. `None` for what Folkmoot and its workflows do, and
    /// in events that were written before version 12 of the schema.
    pub token_id: Option<TokenId>,
}

/// A fact in its place: positions are dense, and each event carries the hash of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// From 1, with no gaps.
    pub position: u64,
    pub fact: Fact,
    /// Of the event before; zero for the first.
    pub prev_hash: Digest,
    /// Of this event.
    pub hash: Digest,
}

/// The end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Of the last event; zero while there is none.
    pub position: u64,
    /// Of the last event.
    pub hash: Digest,
}

impl Head {
    /// Before anything happened.
    pub const START: Head = Head { position: 0, hash: Digest::ZERO };
}

/// An event that cannot follow the ones before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CorruptLog(pub String);

impl CorruptLog {
    /// What a fact's payload says.
    pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(fact: &'a Fact) -> Result<T, CorruptLog> {
        serde_json::from_str(&fact.payload)
            .map_err(|error| CorruptLog(format!("{} has a payload that does not parse: {error}", fact.kind)))
    }

    /// Refuses a stream that does not begin where its first fact says.
    pub(crate) fn unless_first(first: &Fact, seq: u64) -> Result<(), CorruptLog> {
        if first.stream_seq == seq {
            return Ok(());
        }
        Err(CorruptLog(format!("begins with event {} of the stream", first.stream_seq)))
    }

    /// Refuses a gap in a stream of which `seq` is the last event that is known.
    pub(crate) fn unless_next(fact: &Fact, seq: u64) -> Result<(), CorruptLog> {
        if fact.stream_seq == seq + 1 {
            return Ok(());
        }
        Err(CorruptLog(format!("event {} of the stream follows event {seq}", fact.stream_seq)))
    }
}
