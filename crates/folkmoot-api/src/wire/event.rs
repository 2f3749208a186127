//! Events on the feed.

use std::sync::Arc;

use folkmoot_core::{CommandId, Name, SessionId, Timestamp, TokenId, event};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A fact, as the feed tells it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Dense, from 1; send it back as `Last-Event-ID` to go on from here.
    pub position: u64,
    /// What it happened to: a gate's id, `run:…`, `token:…`.
    pub stream: String,
    /// Counts the stream's events.
    pub stream_seq: u64,
    /// `noun.verb`, such as `gate.opened`.
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
    pub at: Timestamp,
    /// What happened, in detail.
    #[schema(value_type = Object)]
    pub payload: Arc<RawValue>,
    /// The token that was shown for it; null for what Folkmoot and its workflows do.
    pub token_id: Option<TokenId>,
}

impl Event {
    /// The event as the feed tells it.
    pub fn new(event: &event::Event) -> Self {
        let fact = &event.fact;
        let payload = RawValue::from_string(fact.payload.clone())
            .unwrap_or_else(|_| RawValue::from_string("null".to_owned()).expect("null is JSON"));
        Self {
            position: event.position,
            stream: fact.stream.as_ref().to_owned(),
            stream_seq: fact.stream_seq,
            kind: fact.kind.clone().into_owned(),
            version: fact.version,
            actor: fact.actor.clone(),
            on_behalf_of: fact.on_behalf_of.clone(),
            session: fact.session.clone(),
            command_id: fact.command_id.clone(),
            at: fact.at,
            payload: payload.into(),
            token_id: fact.token_id.clone(),
        }
    }
}

/// One message of the feed, as server-sent events frame it. The first has only an id: the position
/// from which it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FeedMessage {
    /// The event's position.
    pub id: Option<String>,
    /// The event's type, such as `gate.opened`.
    pub event: Option<String>,
    /// An `Event`, as JSON.
    #[schema(content_media_type = "application/json")]
    pub data: Option<String>,
}
