//! What is written when a webhook is made, changed or removed.

use super::{Case, RefusedWith, json};
use crate::{
    Commit, Loaded, Outcome, Refusal, Row, WebhookId,
    webhook::{self, NewWebhook, Webhook, WebhookChange},
};

impl Case<'_> {
    pub(super) fn create_webhook(&self, new: &NewWebhook, loaded: &Loaded) -> Result<Commit, RefusedWith> {
        let (by, channels) = (&self.command.by, &self.command.subscriptions);
        let webhook = webhook::create(new, loaded.webhook.as_ref(), channels, by, self.now)?;
        Ok(self.of_webhook(webhook, "webhook.created"))
    }

    pub(super) fn change_webhook(&self, change: &WebhookChange, loaded: Loaded) -> Result<Commit, RefusedWith> {
        webhook::must_manage(&self.command.by)?;
        let standing = loaded.webhook.filter(|webhook| webhook.removed_at.is_none());
        let webhook = standing.ok_or_else(|| unknown(&change.webhook))?;
        match webhook::change(&webhook, change, self.now)? {
            Some(changed) => Ok(self.of_webhook(changed, "webhook.changed")),
            None => Ok(Commit { outcome: Outcome::Webhook(Box::new(webhook)), ..Commit::default() }),
        }
    }

    pub(super) fn remove_webhook(&self, id: &WebhookId, loaded: Loaded) -> Result<Commit, RefusedWith> {
        webhook::must_manage(&self.command.by)?;
        let webhook = loaded.webhook.ok_or_else(|| unknown(id))?;
        match webhook::remove(&webhook, self.now) {
            Some(removed) => Ok(self.of_webhook(removed, "webhook.removed")),
            None => Ok(Commit { outcome: Outcome::Webhook(Box::new(webhook)), ..Commit::default() }),
        }
    }

    fn of_webhook(&self, webhook: Webhook, kind: &'static str) -> Commit {
        let fact = self.fact(&webhook.stream(), webhook.seq, kind, json(&webhook.logged()), None);
        let rows = vec![Row::Webhook(Box::new(webhook.clone()))];
        Commit { rows, events: vec![fact], outcome: Outcome::Webhook(Box::new(webhook)), ..Commit::default() }
    }
}

fn unknown(webhook: &WebhookId) -> Refusal {
    Refusal::UnknownWebhook { webhook: webhook.clone() }
}
