//! Sends the engine's messages to webhooks and configured channels. It never decides when to retry,
//! and never touches what a message is about.

mod message;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use folkmoot_core::{Principal, Refusal, Role, Timestamp, Webhook};
use folkmoot_engine::{Courier, CourierFailure, CourierMessage, Engine, Error};
use folkmoot_notify::{
    AddressGuard, Channels, Notification, Programs,
    channels::ChannelInfo,
    webhook::{self, WebhookSecret},
};
use folkmoot_store::{Clock, SystemClock};
use folkmoot_workflows::{
    doctor::{Area, DoctorFinding},
    tools,
};
use futures_util::future::BoxFuture;

use crate::{Config, ServerKey, app::App};

/// Sends notifications. Clones share their state.
#[derive(Clone, Debug)]
pub(crate) struct Notifier {
    channels: Channels,
    key: Arc<ServerKey>,
    public_url: Option<String>,
}

impl Notifier {
    /// `Err` says which channel is invalid, and what to do.
    pub(crate) fn new(config: &Config, key: Arc<ServerKey>) -> Result<Self, String> {
        let channels = Channels::new(&config.notify, &config.channels, &programs())?;
        Ok(Self { channels, key, public_url: config.notify.public_url.clone() })
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.channels
    }

    pub(crate) fn guard(&self) -> &AddressGuard {
        self.channels.post().guard()
    }

    /// Sends a test message to a webhook.
    pub(crate) async fn test_webhook(
        &self,
        webhook: &Webhook,
        now: Timestamp,
    ) -> Result<(), folkmoot_notify::SendFailure> {
        self.to_webhook(webhook, &message::test(webhook.name.as_str(), SystemClock.now()), now).await
    }

    /// Why this server cannot sign for a webhook, if so.
    pub(crate) fn of_another_key(&self, webhook: &Webhook) -> Option<String> {
        let (Webhook { name, key, .. }, ours) = (webhook, self.key.public().id());
        let its = key.as_ref().filter(|its| **its != ours)?;
        Some(format!(
            "its secret is derived from {its}, and this server's key is {ours}: a server that has {its} tells it, or \
             `folkmoot webhook rotate {name}` gives it a secret of this one"
        ))
    }

    /// Sends a test message to a configured channel.
    pub(crate) async fn test_channel(&self, name: &str) -> Result<(), folkmoot_notify::SendFailure> {
        let now = SystemClock.now();
        self.channels.send(name, &message::test(name, now), now).await
    }

    async fn to_webhook(
        &self,
        webhook: &Webhook,
        message: &Notification,
        now: Timestamp,
    ) -> Result<(), folkmoot_notify::SendFailure> {
        if let Some(problem) = self.of_another_key(webhook) {
            return Err(folkmoot_notify::SendFailure::later(problem));
        }
        let secrets: Vec<WebhookSecret> =
            webhook.generations(now).map(|generation| secret_number(&self.key, webhook, generation)).collect();
        // The signed time is for the receiver, so it is the real time.
        webhook::send(self.channels.post(), &webhook.url, &secrets, message, SystemClock.now()).await
    }
}

/// The current secret of a webhook. It is shown only when it is created or rotated.
pub(crate) fn secret(key: &ServerKey, webhook: &Webhook) -> WebhookSecret {
    secret_number(key, webhook, webhook.generation)
}

fn secret_number(key: &ServerKey, webhook: &Webhook, generation: u64) -> WebhookSecret {
    WebhookSecret::new(key.webhook_secret(webhook.id.as_str(), generation))
}

impl Courier for Notifier {
    fn deliver(&self, letter: CourierMessage) -> BoxFuture<'static, Result<(), CourierFailure>> {
        let notifier = self.clone();
        Box::pin(async move {
            let now = SystemClock.now();
            let message = message::of(&letter, notifier.public_url.as_deref(), now);
            let told = match &letter.webhook {
                Some(webhook) => notifier.to_webhook(webhook, &message, letter.at).await,
                None => notifier.channels.send(&letter.delivery.channel, &message, now).await,
            };
            told.map_err(|undelivered| CourierFailure { reason: undelivered.reason, again: undelivered.again })
        })
    }
}

/// Refuses names that are neither configured channels nor webhooks.
pub(crate) async fn must_be_channels(app: &App, field: &'static str, names: &[String]) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let webhooks = app.engine.webhooks(&system()).await?;
    let known =
        |name: &str| app.notifier.channels.has(name) || webhooks.iter().any(|webhook| webhook.name.as_str() == name);
    match names.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = format!(
                "names {name:?}, which is neither a channel of the configuration nor a webhook; `folkmoot notify list` shows those there \
                 are"
            );
            Err(Refusal::invalid(field, problem).into())
        }
    }
}

/// Starts the desktop's programs through folkmoot-tools, the only crate that starts processes.
#[derive(Debug)]
struct ToolPrograms;

impl Programs for ToolPrograms {
    fn is_installed(&self, program: &str, environment: &BTreeMap<String, String>) -> bool {
        tools::find(program, environment).is_some()
    }

    fn run<'a>(
        &'a self,
        command: &'a [String],
        environment: &'a BTreeMap<String, String>,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(tools::run_once(command, environment, timeout))
    }
}

fn programs() -> Arc<dyn Programs> {
    Arc::new(ToolPrograms)
}

/// A principal that may see all webhooks.
fn system() -> Principal {
    Principal::new("system".parse().expect("a plain word is a name"), Role::Admin)
}

/// The configured channels, and why any of them cannot be used.
pub fn examine(config: &Config) -> Vec<DoctorFinding> {
    let finding = |name: String, ok: bool, detail: String| DoctorFinding { area: Area::Notify, name, ok, detail };
    let channels = match Channels::new(&config.notify, &config.channels, &programs()) {
        Ok(channels) => channels.list(),
        Err(problem) => return vec![finding("channels".to_owned(), false, problem)],
    };
    if channels.is_empty() {
        let detail = "none in folkmoot.toml; webhooks need none: `folkmoot webhook add URL`";
        return vec![finding("channels".to_owned(), true, detail.to_owned())];
    }
    let found = |ChannelInfo { name, kind, events, problem }: ChannelInfo| {
        let events: Vec<&str> = events.iter().map(|pattern| pattern.as_str()).collect();
        let told = if events.is_empty() { "gates that name it".to_owned() } else { events.join(", ") };
        let ok = problem.is_none();
        finding(name, ok, problem.unwrap_or_else(|| format!("{kind}, told of {told}")))
    };
    channels.into_iter().map(found).collect()
}

/// Logs problems: channels that cannot be used, and names without a channel.
pub(crate) async fn warn(notifier: &Notifier, config: &Config, engine: &Engine) -> Result<(), Error> {
    for ChannelInfo { name, problem, .. } in notifier.channels.list() {
        if let Some(problem) = problem {
            tracing::warn!("[channels.{name}] can tell nobody: {problem}");
        }
    }
    let webhooks = engine.webhooks(&system()).await?;
    for webhook in webhooks.iter().filter(|webhook| notifier.channels.has(webhook.name.as_str())) {
        let (id, name) = (&webhook.id, &webhook.name);
        tracing::warn!(
            "the webhook {id} and [channels.{name}] have one name, and the webhook is told nothing; rename one of them"
        );
    }
    let known = |name: &String| {
        notifier.channels.has(name) || webhooks.iter().any(|webhook| webhook.name.as_str() == name.as_str())
    };
    for (key, names) in
        [("notification_channels", &config.policy.notification_channels), ("escalate_to", &config.policy.escalate_to)]
    {
        for name in names.iter().filter(|name| !known(name)) {
            tracing::warn!(
                "{key} in [gates] names {name:?}, which is no channel: add [channels.{name}] to the configuration, or a webhook with \
                 `folkmoot webhook add URL --name {name}`; until then what is to be told there is dead"
            );
        }
    }
    Ok(())
}
