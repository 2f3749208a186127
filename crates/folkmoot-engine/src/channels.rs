//! Channels: the configured ones and the webhooks. They are kept in memory, because every command
//! includes them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, RwLock},
};

use folkmoot_core::{KeyId, Webhook, delivery::Subscription};
use folkmoot_store::{Error, Store};

use crate::{
    Engine,
    lock::{read, write},
};

#[derive(Debug)]
pub(crate) struct ChannelRegistry {
    configured: Vec<Subscription>,
    /// The key that signs webhooks here.
    key: Option<KeyId>,
    known: RwLock<ChannelRegistryState>,
}

#[derive(Debug, Default)]
struct ChannelRegistryState {
    /// By name, without removed ones.
    webhooks: HashMap<String, Webhook>,
    /// The names of removed ones.
    removed: HashSet<String>,
    subscriptions: Arc<[Subscription]>,
}

#[derive(Debug)]
pub(crate) enum ChannelTarget {
    Configured,
    Webhook(Box<Webhook>),
    /// A webhook that this node cannot sign for, and why. Another node may.
    OfAnotherKey(String),
    /// A disabled webhook, and why.
    Mute(String),
    /// Unknown to this node, and what to do. Another node with another configuration may know it.
    Unknown(String),
}

impl ChannelRegistry {
    pub(crate) fn new(configured: Vec<Subscription>, key: Option<KeyId>) -> Self {
        Self { configured, key, known: RwLock::default() }
    }

    fn replace(&self, webhooks: Vec<Webhook>) {
        let (removed, standing): (Vec<_>, Vec<_>) = webhooks.into_iter().partition(|hook| hook.removed_at.is_some());
        let told = standing.iter().filter(|webhook| webhook.is_told()).map(Webhook::subscription);
        let known = ChannelRegistryState {
            subscriptions: self.configured.iter().cloned().chain(told).collect(),
            webhooks: standing.into_iter().map(|webhook| (webhook.name.to_string(), webhook)).collect(),
            removed: removed.into_iter().map(|webhook| webhook.name.to_string()).collect(),
        };
        *write(&self.known) = known;
    }

    /// The channels and their events.
    pub(crate) fn subscriptions(&self) -> Arc<[Subscription]> {
        read(&self.known).subscriptions.clone()
    }

    /// Whether any channel wants such an event.
    pub(crate) fn want(&self, kind: &str) -> bool {
        let wants = |subscription: &Subscription| subscription.events.iter().any(|pattern| pattern.matches(kind));
        read(&self.known).subscriptions.iter().any(wants)
    }

    pub(crate) fn find(&self, channel: &str) -> ChannelTarget {
        if self.configured.iter().any(|known| known.channel == channel) {
            return ChannelTarget::Configured;
        }
        let known = read(&self.known);
        match known.webhooks.get(channel) {
            Some(webhook) if !webhook.is_told() => {
                ChannelTarget::Mute(format!("the webhook {channel} is disabled; enable it, and send this again"))
            }
            Some(webhook) => match (&self.key, &webhook.key) {
                (Some(ours), Some(its)) if ours != its => ChannelTarget::OfAnotherKey(format!(
                    "the secret of the webhook {channel} is derived from {its}, and this server's key is {ours}: a server that has \
                     {its} tells it, or `folkmoot webhook rotate {channel}` gives it a secret of this one"
                )),
                _ => ChannelTarget::Webhook(Box::new(webhook.clone())),
            },
            None if known.removed.contains(channel) => ChannelTarget::Unknown(format!(
                "the webhook {channel} was removed; make another of that name, and send this again"
            )),
            None => ChannelTarget::Unknown(format!(
                "there is no channel {channel:?}: make a webhook of that name, or configure it under [channels], and \
                 send this again"
            )),
        }
    }
}

impl Engine {
    /// Reloads the webhooks after a change here or on another node.
    pub(crate) async fn reload_webhooks(&self) -> Result<(), Error> {
        self.0.channels.replace(self.0.store.webhooks().await?);
        Ok(())
    }
}
