//! Deliveries and channels on the wire.

use folkmoot_core::{
    DeliveryId, Timestamp,
    delivery::{self, DeliveryStatus, Pattern},
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// One message about one event, to one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The same each time the message is sent. A webhook receives it as `webhook-id`.
    pub id: DeliveryId,
    pub channel: String,
    /// What the message is about: the id of a gate, a question or a halt, or `run:…`.
    pub subject: String,
    /// The type of the event, such as `gate.opened`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's position in the log.
    pub position: u64,
    pub state: DeliveryStatus,
    /// The number of attempts since the message was created, or since it was last resent by
    /// request.
    pub attempts: u32,
    /// The error of the last failed attempt.
    pub last_error: Option<String>,
    /// When the event happened.
    pub created_at: Timestamp,
    /// When the next attempt is due. While the message is being sent: when another server may try.
    pub due_at: Option<Timestamp>,
    /// When the message was delivered, or given up as dead.
    pub ended_at: Option<Timestamp>,
}

/// Which deliveries to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeliveryListParams {
    /// Only deliveries in this state.
    pub state: Option<DeliveryStatus>,
    /// Only deliveries to this channel.
    pub channel: Option<String>,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of deliveries; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of deliveries.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// Newest first.
    pub deliveries: Vec<Delivery>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

impl From<delivery::Delivery> for Delivery {
    fn from(delivery: delivery::Delivery) -> Self {
        Self {
            state: delivery.status(),
            due_at: delivery.due(),
            ended_at: delivery.ended_at(),
            id: delivery.id,
            channel: delivery.channel,
            subject: delivery.subject,
            kind: delivery.kind,
            position: delivery.position,
            attempts: delivery.attempts,
            last_error: delivery.last_error,
            created_at: delivery.created_at,
        }
    }
}

/// Sends a test message to a channel.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestChannel {
    /// The name of a configured channel or of a webhook.
    pub channel: String,
}

/// The result of a test message.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tested {
    pub channel: String,
    /// Whether the message was delivered.
    pub delivered: bool,
    pub reason: Option<String>,
}

/// A channel that can receive notifications.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    /// The name that gates use in `notification_channels`.
    pub name: String,
    /// `webhook`, `slack`, `mail` or `desktop`.
    pub kind: String,
    /// The events that it receives, besides those of gates that name it.
    #[schema(value_type = Vec<String>)]
    pub events: Vec<Pattern>,
    /// Why it cannot receive messages now.
    pub problem: Option<String>,
    /// The newest message that is dead, or that failed and will be retried.
    pub last_failure: Option<Delivery>,
}

/// All channels.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    /// Configured channels first, then webhooks.
    pub channels: Vec<Channel>,
}
