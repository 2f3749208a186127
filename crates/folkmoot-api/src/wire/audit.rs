//! The log on the wire, with everything that a script needs to check its hash chain.

use std::{borrow::Cow, sync::Arc};

use folkmoot_core::{
    CommandId, Digest, Event, Fact, Name, SessionId, Timestamp, TokenId, audit::AuditProblem, checkpoint, receipt,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One event of the log, with its hashes. The payload is a string, because exactly its bytes are
/// hashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// The event's place in the log, counted from 1 without gaps.
    pub position: u64,
    /// What the event is about: a gate's id, `run:…`, `token:…`.
    pub stream: String,
    /// The event's number within its stream.
    pub stream_seq: u64,
    /// `noun.verb`, such as `gate.opened`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The version of the payload's format.
    pub version: u32,
    /// The principal that caused the event, or `system`.
    pub actor: Name,
    /// The agent for which the principal acted.
    pub on_behalf_of: Option<Name>,
    /// The session that the event belongs to.
    pub session: Option<SessionId>,
    /// The command that caused the event.
    pub command_id: CommandId,
    /// With six decimals of a second.
    pub at: Timestamp,
    /// JSON as text.
    pub payload: String,
    /// 64 hexadecimal digits.
    pub prev_hash: String,
    /// 64 hexadecimal digits.
    pub hash: String,
    /// The token that the request used; `null` for what Folkmoot and its workflows do.
    pub token_id: Option<TokenId>,
}

/// A page of the log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// In the order of the log.
    pub entries: Vec<AuditEntry>,
    /// `after` of the next page; `null` at the end.
    pub next: Option<u64>,
}

/// A signed statement by the server: at this time, the log had this hash at this position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Checkpoint {
    /// When the log was in this state.
    pub at: Timestamp,
    /// The hash of the log's first event.
    pub first: String,
    /// The hash of the event at `position`.
    pub hash: String,
    /// The name of the log: `main`.
    pub log: String,
    /// The position of the log's last event.
    pub position: u64,
    /// Always `folkmoot.checkpoint.v1`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The server's public key, as PEM. Compare it with the key that you stored earlier.
    pub public_key: String,
    /// The ed25519 signature of the canonical JSON (RFC 8785) of all other fields, in base64.
    pub signature: String,
}

/// A signed receipt of one gate, with everything that is needed to check it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Receipt {
    /// What the gate showed and what was decided; docs/audit.md describes the fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub receipt: receipt::Receipt,
    /// The gate's events, and the events that erased some of its content.
    pub events: Vec<AuditEntry>,
    /// The state of the log when the receipt was made.
    pub checkpoint: Checkpoint,
    /// The server's public key, as PEM. Compare it with the key that you stored earlier.
    pub public_key: String,
    /// The ed25519 signature of the canonical JSON (RFC 8785) of all other fields, in base64.
    pub signature: String,
}

/// Erases content.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Erase {
    /// Why the content is erased. The log keeps this text, so do not repeat the content in it.
    pub reason: String,
}

/// What was erased.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Erased {
    /// The contents that this request erased. Those that were erased earlier are not listed.
    pub erased: Vec<Digest>,
    /// Whether the bytes are also gone from the database's files. PostgreSQL removes them later, in
    /// its own time.
    pub scrubbed: bool,
}

impl Checkpoint {
    /// The statement that is signed; `None` if its hashes or its type are invalid.
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

/// The result of a verification of the log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// Whether no problem was found.
    pub ok: bool,
    /// The number of events that were checked.
    pub events: u64,
    /// The number of rows that were compared with the log.
    pub rows: u64,
    /// The hash of the last event. If you store it elsewhere, you can later detect that the end of
    /// the log was cut off.
    pub head_hash: String,
    /// The problems that were found, at most 100.
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
    /// The event; `None` if a hash is invalid.
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
