//! Creating, changing, listing and removing webhooks.

use folkmoot_core::{
    Outcome, Principal, Refusal, Role, Webhook, WebhookId,
    webhook::{self, NewWebhook, WebhookChange},
};
use folkmoot_store::{Error, Store};

use super::after_the_commit;
use crate::{Caller, Engine};

impl Engine {
    pub fn new_webhook_id(&self) -> WebhookId {
        WebhookId::new(self.now(), self.0.host.random() as u64)
    }

    /// Creates a webhook. It receives events from now on.
    pub async fn create_webhook(&self, caller: Caller, new: NewWebhook) -> Result<Webhook, Error> {
        self.execute_on_webhook(caller, webhook::Action::Create(Box::new(new))).await
    }

    /// Changes a webhook: here at once, on other nodes when they hear of it.
    pub async fn change_webhook(&self, caller: Caller, change: WebhookChange) -> Result<Webhook, Error> {
        self.execute_on_webhook(caller, webhook::Action::Change(Box::new(change))).await
    }

    /// Removes a webhook. Its undelivered messages are dead.
    pub async fn remove_webhook(&self, caller: Caller, webhook: WebhookId) -> Result<Webhook, Error> {
        self.execute_on_webhook(caller, webhook::Action::Remove { webhook }).await
    }

    pub async fn webhooks(&self, principal: &Principal) -> Result<Vec<Webhook>, Error> {
        must_be_admin(principal, "manage webhooks")?;
        Ok(self.0.store.webhooks().await?.into_iter().filter(|webhook| webhook.removed_at.is_none()).collect())
    }

    pub async fn webhook(&self, principal: &Principal, id: &WebhookId) -> Result<Webhook, Error> {
        let found = self.webhooks(principal).await?.into_iter().find(|webhook| webhook.id == *id);
        Ok(found.ok_or_else(|| Refusal::UnknownWebhook { webhook: id.clone() })?)
    }

    async fn execute_on_webhook(&self, caller: Caller, action: webhook::Action) -> Result<Webhook, Error> {
        let webhook = match self.execute(caller, action).await? {
            Outcome::Webhook(webhook) => *webhook,
            other => return Err(Error::Unreadable(format!("a webhook was expected, and this came: {other:?}"))),
        };
        self.reload_webhooks().await.map_err(|error| after_the_commit("webhooks", &error))?;
        Ok(webhook)
    }
}

pub(super) fn must_be_admin(principal: &Principal, verb: &'static str) -> Result<(), Refusal> {
    match principal.role {
        Role::Admin => Ok(()),
        role @ (Role::Reviewer | Role::Agent | Role::Viewer) => Err(Refusal::RoleMayNot { role, verb }),
    }
}
