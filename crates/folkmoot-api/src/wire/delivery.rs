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
    /// The same however often it is sent; a webhook has it as `webhook-id`.
    pub id: DeliveryId,
    pub channel: String,
    /// What it is about: a gate's, question's or halt's id, `run:…`.
    pub subject: String,
    /// Of the event, such as `gate.opened`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The event's place in the log.
    pub position: u64,
    /// Where it is in its life.
    pub state: DeliveryStatus,
    /// How often it was sent, since it was made or last sent again.
    pub attempts: u32,
    /// Why the last attempt that failed did.
    pub last_error: Option<String>,
    /// When the event happened.
    pub created_at: Timestamp,
    /// When it is sent next, or may be again.
    pub due_at: Option<Timestamp>,
    /// When it was delivered, or died.
    pub ended_at: Option<Timestamp>,
}

/// Which deliveries.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DeliveryListParams {
    /// Only these.
    pub state: Option<DeliveryStatus>,
    /// Only to this channel.
    pub channel: Option<String>,
    /// Where another page ended.
    pub cursor: Option<String>,
    /// At most so many, up to 500; 50 unless it is given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page of deliveries.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// The newest first.
    pub deliveries: Vec<Delivery>,
    /// The cursor of the next page.
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

/// A test of one channel.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestChannel {
    /// A channel of the configuration, or a webhook's name.
    pub channel: String,
}

/// What came of a test.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tested {
    /// Who was to be told.
    pub channel: String,
    /// Whether they were.
    pub delivered: bool,
    pub reason: Option<String>,
}

/// Somebody who can be told.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Channel {
    /// What gates call it.
    pub name: String,
    /// `webhook`, `slack`, `mail` or `desktop`.
    pub kind: String,
    /// What it is told of without being named.
    #[schema(value_type = Vec<String>)]
    pub events: Vec<Pattern>,
    /// Why it cannot be told anything now.
    pub problem: Option<String>,
    /// The newest message that is dead, or failed and waits to be sent again.
    pub last_failure: Option<Delivery>,
}

/// All who can be told.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ChannelList {
    /// Those of the configuration, then the webhooks.
    pub channels: Vec<Channel>,
}
