//! Webhooks: addresses that receive events.
//!
//! The secret that signs a webhook's messages is derived when it is needed, from the server's key,
//! the webhook's id and the number of the secret. It is stored nowhere. Only the id of the key is
//! stored, so that no server signs with a secret that the receiver does not know.
//!
//! Knowing the address can be enough to send something to the receiver. So the log, which many
//! people read and from which nothing is removed, has only the address's digest and host.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    Commit, Digest, KeyId, Name, Outcome, Refusal, Row, Timestamp, WebhookId,
    command::Actor,
    delivery::{Pattern, Subscription},
    judge::{Case, RefusedWith, json},
    principal,
};

/// The events that a webhook receives by default: whatever somebody should look at, and the
/// decisions on gates.
pub const USUAL_EVENTS: [&str; 7] = [
    "gate.opened",
    "gate.escalated",
    "gate.reminded",
    "gate.decided",
    "question.asked",
    "question.reminded",
    "halt.raised",
];
/// The longest address, in bytes.
pub const URL_BYTES_MAX: usize = 2048;
/// For how long after a rotation messages are signed with the previous secret too.
pub const PREVIOUS_FOR: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of patterns of one webhook.
const EVENTS_MAX: usize = 64;

/// A webhook as stored in its row, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Unique across everything.
    pub id: WebhookId,
    /// Its name as a channel, which gates can use. It is unique among the webhooks that were not
    /// removed.
    pub name: Name,
    pub url: String,
    /// The events that it receives, in addition to those of gates that name it.
    pub events: Vec<Pattern>,
    /// Counts its secrets, from 1.
    pub generation: u64,
    pub created_at: Timestamp,
    pub created_by: Name,
    /// Whether it receives nothing for now.
    pub disabled: bool,
    /// `None` unless it was removed.
    pub removed_at: Option<Timestamp>,
    /// How many events its stream has.
    pub seq: u64,
    /// The server's key that its secret is derived from. `None` if it was not recorded; then each
    /// server assumes that it is its own.
    pub key: Option<KeyId>,
    /// Until when its messages are signed with the previous secret too.
    pub previous_until: Option<Timestamp>,
}

/// A webhook as the log describes it, without its address. Each of its events has all of this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in the row")]
pub struct LoggedWebhook {
    pub id: WebhookId,
    pub name: Name,
    /// The host of the address, with the port if there is one.
    pub host: String,
    /// The digest of the address.
    pub url_digest: Digest,
    pub events: Vec<Pattern>,
    pub generation: u64,
    pub created_at: Timestamp,
    pub created_by: Name,
    pub disabled: bool,
    pub removed_at: Option<Timestamp>,
    pub seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}

/// A request to create a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Made by the caller, because core has no randomness.
    pub id: WebhookId,
    /// Its name as a channel.
    pub name: Name,
    pub url: String,
    /// The events that it will receive. Defaults to [`USUAL_EVENTS`].
    pub events: Option<Vec<Pattern>>,
    /// The key of the server that creates it.
    pub key: KeyId,
}

/// A request to change a webhook. A field that is `None` stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookChange {
    pub webhook: WebhookId,
    pub url: Option<String>,
    pub events: Option<Vec<Pattern>>,
    /// Whether it receives nothing for now.
    pub disabled: Option<bool>,
    /// Gives it a new secret, derived from this key, which is that of the server that changes it.
    /// For [`PREVIOUS_FOR`], messages are signed with the previous secret too, so that the receiver
    /// has time to change. That is not possible if the previous secret was derived from another
    /// key.
    pub rotate: Option<KeyId>,
}

impl WebhookChange {
    /// A change of nothing, to be filled in.
    pub fn of(webhook: WebhookId) -> Self {
        Self { webhook, url: None, events: None, disabled: None, rotate: None }
    }
}

impl Webhook {
    /// Whether it receives anything.
    pub fn is_told(&self) -> bool {
        !self.disabled && self.removed_at.is_none()
    }

    /// Whether its secret is derived from this key. True if the key was not recorded.
    pub fn is_of(&self, key: &KeyId) -> bool {
        self.key.as_ref().is_none_or(|own| own == key)
    }

    /// The numbers of the secrets with which its messages are signed at this moment, the newest
    /// first.
    pub fn generations(&self, now: Timestamp) -> impl Iterator<Item = u64> + use<> {
        let previous = self.previous_until.filter(|until| now < *until).and_then(|_| self.generation.checked_sub(1));
        [self.generation].into_iter().chain(previous)
    }

    pub fn subscription(&self) -> Subscription {
        Subscription { channel: self.name.to_string(), events: self.events.clone() }
    }

    /// What the log says about it.
    pub fn logged(&self) -> LoggedWebhook {
        LoggedWebhook {
            id: self.id.clone(),
            name: self.name.clone(),
            host: authority(&self.url).unwrap_or_default().to_owned(),
            url_digest: Digest::of(self.url.as_bytes()),
            events: self.events.clone(),
            generation: self.generation,
            created_at: self.created_at,
            created_by: self.created_by.clone(),
            disabled: self.disabled,
            removed_at: self.removed_at,
            seq: self.seq,
            key: self.key.clone(),
            previous_until: self.previous_until,
        }
    }

    /// Its stream in the log.
    pub fn stream(&self) -> String {
        format!("webhook:{}", self.id)
    }
}

/// An action on a webhook.
#[derive(Clone, Debug)]
pub enum Action {
    Create(Box<NewWebhook>),
    Change(Box<WebhookChange>),
    Remove { webhook: WebhookId },
}

/// The webhook that a command needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs<'a> {
    /// This webhook.
    pub id: Option<&'a WebhookId>,
    /// The webhook that has this name and was not removed.
    pub name: Option<&'a Name>,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Create(_) => "webhook.create",
            Action::Change(_) => "webhook.change",
            Action::Remove { .. } => "webhook.remove",
        }
    }

    pub(crate) fn needs(&self) -> crate::Needs<'_> {
        let webhook = match self {
            Action::Create(new) => Needs { id: None, name: Some(&new.name) },
            Action::Change(change) => Needs { id: Some(&change.webhook), name: None },
            Action::Remove { webhook } => Needs { id: Some(webhook), name: None },
        };
        crate::Needs { webhook, ..crate::Needs::default() }
    }

    pub(crate) fn judge(&self, case: &Case<'_>, webhook: Option<Webhook>) -> Result<Commit, RefusedWith> {
        let by = &case.command.by;
        match self {
            Action::Create(new) => {
                let webhook = create(new, webhook.as_ref(), &case.command.subscriptions, by, case.now)?;
                Ok(webhook.commit(case, "webhook.created"))
            }
            Action::Change(wanted) => {
                must_manage(by)?;
                let current = webhook.filter(|webhook| webhook.removed_at.is_none());
                let webhook = current.ok_or_else(|| unknown(&wanted.webhook))?;
                let changed = change(&webhook, wanted, case.now)?;
                Ok(changed.map_or_else(|| unchanged(webhook), |changed| changed.commit(case, "webhook.changed")))
            }
            Action::Remove { webhook: id } => {
                must_manage(by)?;
                let webhook = webhook.ok_or_else(|| unknown(id))?;
                let removed = remove(&webhook, case.now);
                Ok(removed.map_or_else(|| unchanged(webhook), |removed| removed.commit(case, "webhook.removed")))
            }
        }
    }
}

impl Webhook {
    fn commit(self, case: &Case<'_>, kind: &'static str) -> Commit {
        let fact = case.fact(&self.stream(), self.seq, kind, json(&self.logged()), None);
        let rows = vec![Row::Webhook(Box::new(self.clone()))];
        Commit { rows, events: vec![fact], outcome: Outcome::Webhook(Box::new(self)), ..Commit::default() }
    }
}

fn unchanged(webhook: Webhook) -> Commit {
    Commit { outcome: Outcome::Webhook(Box::new(webhook)), ..Commit::default() }
}

fn unknown(webhook: &WebhookId) -> Refusal {
    Refusal::UnknownWebhook { webhook: webhook.clone() }
}

/// Judges a new webhook. `holder` is the webhook that already has its name, if there is one.
/// `channels` are those of the configuration, and of the webhooks that the node knows.
fn create(
    new: &NewWebhook,
    holder: Option<&Webhook>,
    channels: &[Subscription],
    by: &Actor,
    now: Timestamp,
) -> Result<Webhook, Refusal> {
    must_manage(by)?;
    principal::check_name("name", &new.name)?;
    if holder.is_some() || channels.iter().any(|known| known.channel == new.name.as_str()) {
        return Err(Refusal::ChannelTaken { name: new.name.clone() });
    }
    check_url(&new.url)?;
    let usual = || USUAL_EVENTS.iter().map(|kind| kind.parse()).collect();
    let events = new.events.clone().map_or_else(usual, Ok)?;
    check_events(&events)?;
    Ok(Webhook {
        id: new.id.clone(),
        name: new.name.clone(),
        url: new.url.clone(),
        events,
        generation: 1,
        created_at: now,
        created_by: by.name(),
        disabled: false,
        removed_at: None,
        seq: 1,
        key: Some(new.key.clone()),
        previous_until: None,
    })
}

/// Judges a change; `None` if nothing changes.
fn change(webhook: &Webhook, change: &WebhookChange, now: Timestamp) -> Result<Option<Webhook>, Refusal> {
    if let Some(url) = &change.url {
        check_url(url)?;
    }
    if let Some(events) = &change.events {
        check_events(events)?;
    }
    let secret = match &change.rotate {
        Some(key) => Webhook {
            generation: webhook.generation + 1,
            previous_until: webhook.is_of(key).then(|| now.plus(PREVIOUS_FOR)),
            key: Some(key.clone()),
            ..webhook.clone()
        },
        None => webhook.clone(),
    };
    let changed = Webhook {
        url: change.url.clone().unwrap_or_else(|| webhook.url.clone()),
        events: change.events.clone().unwrap_or_else(|| webhook.events.clone()),
        disabled: change.disabled.unwrap_or(webhook.disabled),
        ..secret
    };
    Ok((changed != *webhook).then_some(Webhook { seq: webhook.seq + 1, ..changed }))
}

/// Judges a removal; `None` if it was already removed.
fn remove(webhook: &Webhook, now: Timestamp) -> Option<Webhook> {
    if webhook.removed_at.is_some() {
        return None;
    }
    Some(Webhook { removed_at: Some(now), seq: webhook.seq + 1, ..webhook.clone() })
}

/// Refuses a caller who may not manage webhooks, before they learn which webhooks exist.
fn must_manage(by: &Actor) -> Result<(), Refusal> {
    by.must_be_admin("manage webhooks")
}

fn check_events(events: &[Pattern]) -> Result<(), Refusal> {
    if events.len() > EVENTS_MAX {
        let problem = format!("are {}; at most {EVENTS_MAX} are allowed, and `gate.*` means many", events.len());
        return Err(Refusal::invalid("events", problem));
    }
    events.iter().try_for_each(Pattern::check)
}

/// Refuses a text that cannot be an address. Whether messages may be sent there is checked when
/// they are sent, because a host name can resolve to another address by then.
fn check_url(url: &str) -> Result<(), Refusal> {
    let invalid = |problem: &str| Err(Refusal::invalid("url", problem));
    if url.len() > URL_BYTES_MAX {
        return Err(Refusal::invalid(
            "url",
            format!("is {} bytes long; at most {URL_BYTES_MAX} are allowed", url.len()),
        ));
    }
    if url.bytes().any(|b| b.is_ascii_whitespace() || b.is_ascii_control() || b == b'\\') {
        return invalid("holds a space, a control character or a backslash; write it as a browser shows it");
    }
    let Some(authority) = authority(url) else {
        return invalid("must begin with https:// or http://");
    };
    if authority.contains('@') {
        return invalid("holds a name or password before an @; messages are signed instead");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, after)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, after),
            _ => return invalid("has a host in brackets that is no IPv6 address"),
        },
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    if host.is_empty() || host.contains(['[', ']', '<', '>', '"', '^', '`', '{', '}', '|', '%']) {
        return invalid("has no host, or one that cannot be; write https://example.com/path");
    }
    let number =
        |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0) && port.bytes().all(|b| b.is_ascii_digit());
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(number) {
        return invalid("has a port that is no number from 1 to 65535");
    }
    Ok(())
}

/// The part between the scheme and the path: a host, and a port if there is one. `None` if the
/// scheme is not `http` or `https`.
fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    rest.split(['/', '?', '#']).next().filter(|_| known)
}
