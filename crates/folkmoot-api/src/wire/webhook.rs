//! Webhooks on the wire.

use folkmoot_core::{KeyId, Name, Timestamp, WebhookId, delivery::Pattern, webhook};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Creates a webhook.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWebhook {
    /// The address to which messages are sent: `https://…`.
    pub url: String,
    /// The name that gates use in `notification_channels`; by default the host of the address.
    pub name: Option<Name>,
    /// The events that it receives, such as `gate.opened`, `gate.*` or `*`; by default the events
    /// of gates, questions and halts that people should see.
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Option<Vec<Pattern>>,
}

/// Changes a webhook. Fields that are left out stay as they are.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeWebhook {
    /// A new address.
    pub url: Option<String>,
    /// New events, which replace all existing ones.
    #[schema(value_type = Option<Vec<String>>)]
    pub events: Option<Vec<Pattern>>,
    /// Whether the webhook is disabled, so that it receives nothing.
    pub disabled: Option<bool>,
}

/// A webhook.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Webhook {
    pub id: WebhookId,
    /// The name that gates use in `notification_channels`.
    pub name: Name,
    /// The address to which messages are sent.
    pub url: String,
    /// The events that it receives, besides those of gates that name it.
    #[schema(value_type = Vec<String>)]
    pub events: Vec<Pattern>,
    /// Whether the webhook is disabled, so that it receives nothing.
    pub disabled: bool,
    /// The number of its present secret, from 1.
    pub generation: u64,
    pub created_at: Timestamp,
    pub created_by: Name,
    pub removed_at: Option<Timestamp>,
    /// The server key from which the secret is derived. Servers with another key leave the
    /// webhook's messages to servers with this one.
    pub key_id: Option<KeyId>,
    /// After a rotation: until when messages are also signed with the previous secret.
    pub previous_until: Option<Timestamp>,
    /// The secret that signs the messages. It is shown only when it is created.
    pub secret: Option<String>,
}

/// All webhooks, without their secrets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    /// Oldest first.
    pub webhooks: Vec<Webhook>,
}

impl Webhook {
    /// A webhook, with its secret if the secret was just created.
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
