//! The log on the wire: everything that a script needs to check the chain itself.

use std::{borrow::Cow, sync::Arc};

use folkmoot_core::{
    CommandId, Digest, Event, Fact, Name, SessionId, Timestamp, TokenId, audit::AuditProblem, checkpoint, receipt,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of the log, with its hashes. The payload is a string: exactly its bytes are hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Dense, from 1.
    pub position: u64,
    /// What it happened to.
    pub stream: String,
    /// Counts the stream's events.
    pub stream_seq: u64,
    /// `noun.verb`.
    #[serde(rename = "type")]
    pub kind: String,
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
    /// When, with six decimals.
    pub at: Timestamp,
    /// JSON, as text.
    pub payload: String,
    /// 64 hexadecimal digits.
    pub prev_hash: String,
    /// 64 hexadecimal digits.
    pub hash: String,
    /// The token that was shown for it; null for what Folkmoot and its workflows do.
    pub token_id: Option<TokenId>,
}

/// A part of the log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// In order.
    pub entries: Vec<AuditEntry>,
    /// `after` of the next part; null at the end.
    pub next: Option<u64>,
}

/// The log had this hash at this position at this moment, says the server that signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkpoint {
    /// When it was so.
    pub at: Timestamp,
    /// The hash of the log's first event.
    pub first: String,
    /// The hash of the event at `position`.
    pub hash: String,
    /// Which log: `main`.
    pub log: String,
    /// Where the log ended.
    pub position: u64,
    /// `folkmoot.checkpoint.v1`
    #[serde(rename = "type")]
    pub kind: String,
    /// As PEM. Compare it with the one that you kept.
    pub public_key: String,
    /// Of the canonical JSON (RFC 8785) of all the rest: ed25519, in base64.
    pub signature: String,
}

/// One gate with all that can be checked of it, says the server that signed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    /// What was shown and what was decided; docs/audit.md describes it.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub receipt: receipt::Receipt,
    /// The gate's events, and those that erased something of it.
    pub events: Vec<AuditEntry>,
    /// Where the log was.
    pub checkpoint: Checkpoint,
    /// As PEM. Compare it with the one that you kept.
    pub public_key: String,
    /// Of the canonical JSON (RFC 8785) of all the rest: ed25519, in base64.
    pub signature: String,
}

/// Why content is to be erased.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// In the log from then on: do not repeat what is to be erased.
    pub reason: String,
}

/// What was erased.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Erased {
    /// Now, and not before.
    pub erased: Vec<Digest>,
    /// Whether the bytes are gone from the database's files too. PostgreSQL removes them in its own
    /// time.
    pub scrubbed: bool,
}

impl Checkpoint {
    /// What it states; `None` where its hashes, or its type, are none.
    pub fn statement(&self) -> Option<checkpoint::Checkpoint> {
        Some(checkpoint::Checkpoint {
            at: self.at,
            first: Digest::from_hex(&self.first)?,
            hash: Digest::from_hex(&self.hash)?,
            log: self.log.clone(),
            position: self.position,
            kind: self.kind.parse().ok()?,
        })
    }
}

/// What a verification found.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// Whether all is well.
    pub ok: bool,
    /// How many events were checked.
    pub events: u64,
    /// How many rows were compared with the log.
    pub rows: u64,
    /// The last event's hash: keep it elsewhere, and you will notice a tail that is cut off.
    pub head_hash: String,
    /// At most 100.
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<AuditProblem>,
}

impl From<Event> for AuditEntry {
    fn from(event: Event) -> Self {
        let fact = event.fact;
        Self {
            position: event.position,
            stream: fact.stream.as_ref().to_owned(),
            stream_seq: fact.stream_seq,
            kind: fact.kind.into_owned(),
            version: fact.version,
            actor: fact.actor,
            on_behalf_of: fact.on_behalf_of,
            session: fact.session,
            command_id: fact.command_id,
            at: fact.at,
            payload: fact.payload,
            prev_hash: event.prev_hash.hex(),
            hash: event.hash.hex(),
            token_id: fact.token_id,
        }
    }
}

impl AuditEntry {
    /// The event that it tells of; `None` where its hashes are none.
    pub fn event(self) -> Option<Event> {
        Some(Event {
            position: self.position,
            prev_hash: Digest::from_hex(&self.prev_hash)?,
            hash: Digest::from_hex(&self.hash)?,
            fact: Fact {
                stream: Arc::from(self.stream),
                stream_seq: self.stream_seq,
                kind: Cow::Owned(self.kind),
                version: self.version,
                actor: self.actor,
                on_behalf_of: self.on_behalf_of,
                session: self.session,
                command_id: self.command_id,
                at: self.at,
                payload: self.payload,
                token_id: self.token_id,
            },
        })
    }
}
