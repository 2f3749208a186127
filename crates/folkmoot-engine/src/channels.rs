//! Who is told of what: the channels that configuration names, and the webhooks. All of them are in
//! memory, because every command says them.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use folkmoot_core::{KeyId, Webhook, delivery::Subscription};
use folkmoot_store::{Error, Store};

use crate::Engine;

#[derive(Debug)]
pub(crate) struct ChannelRegistry {
    configured: Vec<Subscription>,
    /// That webhooks are signed with here.
    key: Option<KeyId>,
    known: RwLock<ChannelRegistryState>,
}

#[derive(Debug, Default)]
struct ChannelRegistryState {
    /// By name, without those that were removed.
    webhooks: HashMap<String, Webhook>,
    /// The names of those that were.
    removed: HashSet<String>,
    subscriptions: Arc<[Subscription]>,
}

/// What this node knows of a channel.
#[derive(Debug)]
pub(crate) enum ChannelTarget {
    /// Configuration says what it is.
    Configured,
    /// It is this webhook.
    Webhook(Box<Webhook>),
    /// It is a webhook that this node cannot sign for, and why. Another node may.
    OfAnotherKey(String),
    /// It is a webhook that is to be told nothing, and why.
    Mute(String),
    /// This node does not know it, and what to do. Another may: each has a configuration of its
    /// own.
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

    /// What a channel is to this node.
    pub(crate) fn find(&self, channel: &str) -> ChannelTarget {
        if self.configured.iter().any(|known| known.channel == channel) {
            return ChannelTarget::Configured;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
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
    /// Reads the webhooks again, after one was made, changed or removed here or on another node.
    pub(crate) async fn reload_webhooks(&self) -> Result<(), Error> {
        self.0.channels.replace(self.0.store.webhooks().await?);
        Ok(())
    }
}
