//! Webhooks: addresses that are told of events. What signs the messages is made from the server's
//! key when it is needed, of the webhook's id and the number of its secret; it is stored nowhere,
//! but which key that is, so that no server signs with a secret that the receiver does not know.
//! The address can be all that is needed to speak to whoever listens there, so the log, which many
//! read and which forgets nothing, has only its digest and its host.

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

/// What a webhook is told of unless it says otherwise: whatever somebody should look at, and what
/// became of it.
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
/// For how long after a rotation messages are signed with the secret before too.
pub const PREVIOUS_FOR: Duration = Duration::from_secs(24 * 3600);
/// The most patterns that one can have.
const EVENTS_MAX: usize = 64;

/// A webhook as its row holds it. It carries no secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Unique across everything.
    pub id: WebhookId,
    /// The channel that it is: gates can name it. Of those that were not removed, one has it.
    pub name: Name,
    /// Where to.
    pub url: String,
    /// What it is told of, beside the gates that name it.
    pub events: Vec<Pattern>,
    /// Counts its secrets, from 1.
    pub generation: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub created_by: Name,
    /// It is told nothing for now.
    pub disabled: bool,
    /// When it ended.
    pub removed_at: Option<Timestamp>,
    /// How many events its stream has.
    pub seq: u64,
    /// The server's key that its secret is derived from. `None` where nobody wrote it down: whoever
    /// signs takes it as theirs.
    pub key: Option<KeyId>,
    /// Until when its messages are signed with the secret before too.
    pub previous_until: Option<Timestamp>,
}

/// A webhook as its last event holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "as in the row")]
pub struct LoggedWebhook {
    pub id: WebhookId,
    pub name: Name,
    /// With the port, if the address has one.
    pub host: String,
    /// Of the address.
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

/// A webhook to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWebhook {
    /// Made by the caller, because core has no randomness.
    pub id: WebhookId,
    /// The channel that it is to be.
    pub name: Name,
    /// Where to.
    pub url: String,
    /// What it is to be told of; [`USUAL_EVENTS`] unless it is said.
    pub events: Option<Vec<Pattern>>,
    /// The key of the server that makes it.
    pub key: KeyId,
}

/// What is to change; what is `None` stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookChange {
    /// Of which webhook.
    pub webhook: WebhookId,
    /// Another address.
    pub url: Option<String>,
    /// Other events.
    pub events: Option<Vec<Pattern>>,
    /// Whether it is told nothing for now.
    pub disabled: Option<bool>,
    /// It gets another secret, derived from this key: that of the server that changes it. The one
    /// before is signed with for [`PREVIOUS_FOR`] too, so that its receiver can change in peace;
    /// where it was derived from another key, it cannot be.
    pub rotate: Option<KeyId>,
}

impl WebhookChange {
    /// Nothing changes yet.
    pub fn of(webhook: WebhookId) -> Self {
        Self { webhook, url: None, events: None, disabled: None, rotate: None }
    }
}

impl Webhook {
    /// Whether it is told anything.
    pub fn is_told(&self) -> bool {
        !self.disabled && self.removed_at.is_none()
    }

    /// Whether its secret is derived from this key, as far as is known.
    pub fn is_of(&self, key: &KeyId) -> bool {
        self.key.as_ref().is_none_or(|own| own == key)
    }

    /// The numbers of the secrets that its messages are signed with at this moment, the newest
    /// first.
    pub fn generations(&self, now: Timestamp) -> impl Iterator<Item = u64> + use<> {
        let previous = self.previous_until.filter(|until| now < *until).and_then(|_| self.generation.checked_sub(1));
        [self.generation].into_iter().chain(previous)
    }

    /// What it wants to be told.
    pub fn subscription(&self) -> Subscription {
        Subscription { channel: self.name.to_string(), events: self.events.clone() }
    }

    /// What the log says of it.
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

/// What can be wanted of a webhook.
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
    /// The webhook that has this name, of those that were not removed.
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

/// Judges a new webhook. `holder` is the one that has its name, and `channels` are those that
/// configuration names.
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

/// Judges a change; `None` where nothing changes.
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

/// Judges a removal; `None` where it was removed before.
fn remove(webhook: &Webhook, now: Timestamp) -> Option<Webhook> {
    if webhook.removed_at.is_some() {
        return None;
    }
    Some(Webhook { removed_at: Some(now), seq: webhook.seq + 1, ..webhook.clone() })
}

/// Refuses whoever may not manage webhooks, before they learn which there are.
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

/// Refuses what can be no address. Whether it may be spoken to is looked at when it is, because
/// names change their meaning.
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

/// What stands between the scheme and the path: a host, and a port where there is one.
fn authority(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    rest.split(['/', '?', '#']).next().filter(|_| known)
}
