//! Webhooks on the wire.

use folkmoot_core::{KeyId, Name, Timestamp, WebhookId, delivery::Pattern, webhook};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Makes a webhook.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// Where to send: `https://…`.
    pub url: String,
    /// What gates call it in `notification_channels`; the host of the address unless it is given.
    pub name: Option<Name>,
    /// What it is told of: `gate.opened`, `gate.*`, `*`. What somebody should look at, unless it is
    /// given.
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Option<Vec<Pattern>>,
}

/// Changes a webhook; what is left out stays.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeWebhook {
    /// Another address.
    pub url: Option<String>,
    /// Other events.
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Option<Vec<Pattern>>,
    /// Whether it is told nothing for now.
    pub disabled: Option<bool>,
}

/// A webhook.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    pub id: WebhookId,
    /// What gates call it.
    pub name: Name,
    /// Where to send.
    pub url: String,
    /// What it is told of.
    #[schema(value_type = Vec<String>)]
    pub events: Vec<Pattern>,
    /// It is told nothing for now.
    pub disabled: bool,
    /// Counts its secrets, from 1.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: Name,
    /// When it ended.
    pub removed_at: Option<Timestamp>,
    /// The server's key that its secret is derived from: servers with another one leave its
    /// messages to those that have it.
    pub key_id: Option<KeyId>,
    /// Until when its messages are signed with the secret before too.
    pub previous_until: Option<Timestamp>,
    /// What its messages are signed with, shown once.
    pub secret: Option<String>,
}

/// All webhooks, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// The oldest first.
    pub webhooks: Vec<Webhook>,
}

impl Webhook {
    /// A webhook, and its secret if this is the time to show it.
    pub fn new(webhook: webhook::Webhook, secret: Option<String>) -> Self {
        let webhook::Webhook {
            id,
            name,
            url,
            events,
            generation,
            created_at,
            created_by,
            disabled,
            removed_at,
            seq: _,
            key: key_id,
            previous_until,
        } = webhook;
        Self {
            id,
            name,
            url,
            events,
            disabled,
            generation,
            created_at,
            created_by,
            removed_at,
            key_id,
            previous_until,
            secret,
        }
    }
}
