//! Who is told of what: the channels that configuration names, and the webhooks. All of them are in memory, because every
//! command says them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use folkmoot_core::{Webhook, delivery::Subscription};
use folkmoot_store::{Error, Store};

use crate::{Engine, Undelivered};

#[derive(Debug)]
pub(crate) struct Channels {
    configured: Vec<Subscription>,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By name, without those that were removed.
    webhooks: HashMap<String, Webhook>,
    /// The names of those that were.
    removed: HashSet<String>,
    subscriptions: Arc<[Subscription]>,
}

impl Channels {
    pub(crate) fn new(configured: Vec<Subscription>) -> Self {
        Self { configured, known: RwLock::default() }
    }

    fn replace(&self, webhooks: Vec<Webhook>) {
        let (removed, standing): (Vec<_>, Vec<_>) = webhooks.into_iter().partition(|hook| hook.removed_at.is_some());
        let told = standing.iter().filter(|webhook| webhook.is_told()).map(Webhook::subscription);
        let known = Known {
            subscriptions: self.configured.iter().cloned().chain(told).collect(),
            webhooks: standing.into_iter().map(|webhook| (webhook.name.to_string(), webhook)).collect(),
            removed: removed.into_iter().map(|webhook| webhook.name.to_string()).collect(),
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }

    /// Who wants to be told, of what.
    pub(crate) fn subscriptions(&self) -> Arc<[Subscription]> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).subscriptions.clone()
    }

    /// Whether anybody wants to be told of such an event.
    pub(crate) fn want(&self, kind: &str) -> bool {
        let wants = |subscription: &Subscription| subscription.events.iter().any(|pattern| pattern.matches(kind));
        self.known.read().unwrap_or_else(PoisonError::into_inner).subscriptions.iter().any(wants)
    }

    /// The webhook that a channel is, or none where configuration says what it is; else why it can be told nothing.
    pub(crate) fn find(&self, channel: &str) -> Result<Option<Webhook>, Undelivered> {
        if self.configured.iter().any(|known| known.channel == channel) {
            return Ok(None);
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        match known.webhooks.get(channel) {
            Some(webhook) if webhook.is_told() => Ok(Some(webhook.clone())),
            Some(_) => {
                Err(Undelivered::never(format!("the webhook {channel} is disabled; enable it, and send this again")))
            }
            None if known.removed.contains(channel) => Err(Undelivered::never(format!(
                "the webhook {channel} was removed; make another of that name, and send this again"
            ))),
            None => Err(Undelivered::never(format!(
                "there is no channel {channel:?}: make a webhook of that name, or configure it under [channels], and \
                 send this again"
            ))),
        }
    }
}

impl Engine {
    /// Reads the webhooks again, after one was made, changed or removed here or on another node.
    pub(crate) async fn reload_webhooks(&self) -> Result<(), Error> {
        self.0.channels.replace(self.0.store.webhooks().await?);
        Ok(())
    }
}
