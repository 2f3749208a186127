//! Events on the feed.

use std::sync::Arc;

use folkmoot_core::{CommandId, Name, SessionId, Timestamp, TokenId, event};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One event of the log, as the feed sends it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// The event's place in the log, counted from 1 without gaps. Reconnect with it as
    /// `Last-Event-ID` to continue from here.
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
    pub at: Timestamp,
    /// The details, depending on the type.
    #[schema(value_type = Object)]
    pub payload: Arc<RawValue>,
    /// The token that the request used; `null` for what Folkmoot and its workflows do.
    pub token_id: Option<TokenId>,
}

impl Event {
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

/// One message of the feed, as a server-sent event. The first message has only an id: the position
/// at which the feed begins.
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
