//! The channels that the configuration names.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use folkmoot_core::{
    Timestamp,
    delivery::{Pattern, Subscription},
};
use folkmoot_outbound::{AddressGuard, Secret, Trust, secret};

use crate::{
    Notification, Post, SendFailure,
    desktop::{Desktop, Programs},
    mail::{self, MailServer},
    settings::{self, ChannelKind, Notify},
    slack,
    webhook::{self, WebhookSecret},
};

#[cfg(test)]
mod tests;

/// All configured channels. Clones share the same channels.
#[derive(Clone, Debug)]
pub struct Channels {
    post: Arc<Post>,
    trust: Trust,
    named: Arc<BTreeMap<String, ConfiguredChannel>>,
}

#[derive(Debug)]
struct ConfiguredChannel {
    kind: ChannelKind,
    events: Vec<Pattern>,
    /// The route, or why the channel cannot be used. A missing secret does not stop the server.
    road: Result<ChannelRoute, String>,
}

#[derive(Debug)]
enum ChannelRoute {
    Webhook { url: String, secret: WebhookSecret },
    Slack { url: Secret },
    Mail(MailServer),
    Desktop(Desktop),
}

/// A channel, as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    pub name: String,
    pub kind: ChannelKind,
    /// Events that it receives without being named by a gate.
    pub events: Vec<Pattern>,
    /// Why the channel cannot be used.
    pub problem: Option<String>,
}

impl Channels {
    /// Reads the channels' secrets. Returns `Err` if the configuration itself is invalid, with the
    /// channel and what to do.
    pub fn new(
        notify: &Notify,
        channels: &BTreeMap<String, settings::ChannelSettings>,
        programs: &Arc<dyn Programs>,
    ) -> Result<Self, String> {
        notify.check().map_err(|why| format!("[notify]: {why}"))?;
        let guard = AddressGuard::new(&notify.allow)?;
        let trust = match &notify.ca_file {
            Some(path) => Trust::read(path).map_err(|why| format!("[notify]: {why}"))?,
            None => Trust::default(),
        };
        let mut named = BTreeMap::new();
        for (name, settings) in channels {
            settings.check(&guard).map_err(|why| format!("[channels.{name}]: {why}"))?;
            let (kind, events) = (settings.kind, settings.events.clone());
            named.insert(name.clone(), ConfiguredChannel { kind, events, road: ChannelRoute::new(settings, programs) });
        }
        Ok(Self { post: Arc::new(Post::new(guard, trust.clone())), trust, named: Arc::new(named) })
    }

    /// The sender for webhooks that the configuration does not name.
    pub fn post(&self) -> &Post {
        &self.post
    }

    pub fn has(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// The channels and the events that each receives without being named.
    pub fn subscriptions(&self) -> Vec<Subscription> {
        let subscription = |(name, channel): (&String, &ConfiguredChannel)| Subscription {
            channel: name.clone(),
            events: channel.events.clone(),
        };
        self.named.iter().map(subscription).collect()
    }

    /// All channels, for display.
    pub fn list(&self) -> Vec<ChannelInfo> {
        let listed = |(name, channel): (&String, &ConfiguredChannel)| ChannelInfo {
            name: name.clone(),
            kind: channel.kind,
            events: channel.events.clone(),
            problem: channel.problem(),
        };
        self.named.iter().map(listed).collect()
    }

    /// Sends one message to the channel `name`, once.
    pub async fn send(&self, name: &str, message: &Notification, now: Timestamp) -> Result<(), SendFailure> {
        let Some(channel) = self.named.get(name) else {
            return Err(SendFailure::never(format!(
                "there is no channel {name:?}: add [channels.{name}] to the configuration"
            )));
        };
        // A retry may help: somebody can add the secret and restart the server.
        let road = channel.road.as_ref().map_err(|why| SendFailure::later(why.as_str()))?;
        match road {
            ChannelRoute::Webhook { url, secret } => {
                webhook::send(&self.post, url, std::slice::from_ref(secret), message, now).await
            }
            ChannelRoute::Slack { url } => slack::send(&self.post, url, message).await,
            ChannelRoute::Mail(server) => mail::send(server, self.post.guard(), &self.trust, message, now).await,
            ChannelRoute::Desktop(desktop) => desktop.send(message).await,
        }
    }
}

impl ConfiguredChannel {
    fn problem(&self) -> Option<String> {
        match &self.road {
            Ok(ChannelRoute::Desktop(desktop)) => desktop.check().err(),
            Ok(ChannelRoute::Webhook { .. } | ChannelRoute::Slack { .. } | ChannelRoute::Mail(_)) => None,
            Err(why) => Some(why.clone()),
        }
    }
}

impl ChannelRoute {
    /// The settings have been checked, so only secrets can be missing.
    fn new(settings: &settings::ChannelSettings, programs: &Arc<dyn Programs>) -> Result<Self, String> {
        let missing = "it was checked that it is there";
        Ok(match settings.kind {
            ChannelKind::Webhook => {
                let secret = secret(settings.secret_env.as_deref(), settings.secret_file.as_ref())?;
                let parsed =
                    WebhookSecret::parse(secret.reveal()).map_err(|why| format!("{} {why}", secret.origin()))?;
                ChannelRoute::Webhook { url: settings.url.clone().expect(missing), secret: parsed }
            }
            ChannelKind::Slack => {
                let url = secret(settings.url_env.as_deref(), settings.url_file.as_ref())?;
                if !url.reveal().starts_with("https://") && !url.reveal().starts_with("http://") {
                    return Err(format!(
                        "{} is no address: copy the incoming webhook's, https://hooks.slack.com/…",
                        url.origin()
                    ));
                }
                ChannelRoute::Slack { url }
            }
            ChannelKind::Mail => {
                let (host, port) = mail::host_and_port(settings.server.as_deref().expect(missing), settings.tls())?;
                let login = match &settings.username {
                    Some(name) => {
                        Some((name.clone(), secret(settings.password_env.as_deref(), settings.password_file.as_ref())?))
                    }
                    None => None,
                };
                let from = mail::mailbox(settings.from.as_deref().expect(missing))?;
                let to = settings.to.iter().map(|to| mail::mailbox(to)).collect::<Result<_, _>>()?;
                ChannelRoute::Mail(MailServer { host, port, tls: settings.tls(), login, from, to })
            }
            ChannelKind::Desktop => ChannelRoute::Desktop(Desktop::here(programs.clone())),
        })
    }
}

fn secret(env: Option<&str>, file: Option<&PathBuf>) -> Result<Secret, String> {
    match (env, file) {
        (Some(variable), _) => Secret::from_env(variable),
        (None, Some(path)) => Secret::from_file(path),
        (None, None) => return Err("it names neither a variable nor a file".to_owned()),
    }
    .map_err(|error| match error {
        secret::Error::NotSet(variable) => {
            format!("the server's environment has no {variable}: set it, and start the server again")
        }
        other => other.to_string(),
    })
}
