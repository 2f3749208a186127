//! Webhooks, deliveries and channels.

use folkmoot_core::{DeliveryId, WebhookId};
use reqwest::Method;
use serde_json::json;

use super::{Client, Error};
use crate::wire::{
    ChangeWebhook, ChannelList, Delivery, DeliveryList, DeliveryListParams, NewWebhook, TestChannel, Tested, Webhook,
    WebhookList,
};

impl Client {
    /// Creates a webhook. Only this response contains its secret.
    pub async fn create_webhook(&self, webhook: &NewWebhook) -> Result<Webhook, Error> {
        self.call(Method::POST, "/v1/webhooks", webhook, None).await
    }

    /// All webhooks.
    pub async fn webhooks(&self) -> Result<WebhookList, Error> {
        self.get("/v1/webhooks", &()).await
    }

    /// One webhook.
    pub async fn webhook(&self, id: &WebhookId) -> Result<Webhook, Error> {
        self.get(&format!("/v1/webhooks/{id}"), &()).await
    }

    /// Changes a webhook.
    pub async fn change_webhook(&self, id: &WebhookId, change: &ChangeWebhook) -> Result<Webhook, Error> {
        self.call(Method::PATCH, &format!("/v1/webhooks/{id}"), change, None).await
    }

    /// Gives a webhook a new secret. Only this response contains it.
    pub async fn rotate_webhook(&self, id: &WebhookId) -> Result<Webhook, Error> {
        self.call(Method::POST, &format!("/v1/webhooks/{id}/rotate"), &json!({}), None).await
    }

    /// Removes a webhook.
    pub async fn remove_webhook(&self, id: &WebhookId) -> Result<Webhook, Error> {
        self.json(self.request(Method::DELETE, &format!("/v1/webhooks/{id}")).timeout(super::ANSWER_TIMEOUT)).await
    }

    /// A page of deliveries.
    pub async fn deliveries(&self, query: &DeliveryListParams) -> Result<DeliveryList, Error> {
        self.get("/v1/deliveries", query).await
    }

    /// One delivery.
    pub async fn delivery(&self, id: &DeliveryId) -> Result<Delivery, Error> {
        self.get(&format!("/v1/deliveries/{id}"), &()).await
    }

    /// Sends a delivery again.
    pub async fn resend(&self, id: &DeliveryId, idempotency_key: Option<&str>) -> Result<Delivery, Error> {
        self.call(Method::POST, &format!("/v1/deliveries/{id}/resend"), &json!({}), idempotency_key).await
    }

    /// All channels that can receive notifications.
    pub async fn channels(&self) -> Result<ChannelList, Error> {
        self.get("/v1/notify/channels", &()).await
    }

    /// Sends a test message to a channel and waits for the result.
    pub async fn test_channel(&self, channel: &str) -> Result<Tested, Error> {
        let request = TestChannel { channel: channel.to_owned() };
        let call = self.to_call(Method::POST, "/v1/notify/test", &request, None);
        self.json(call.timeout(super::ANSWER_TIMEOUT + CHANNEL_TEST_TIMEOUT)).await
    }
}

/// The time that a channel may take to deliver a test message.
const CHANNEL_TEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(30);
