//! Deliveries and webhooks in one line each.

use std::time::Duration;

use folkmoot_core::{
    Actor, Command, Delivery, DeliveryId, Outcome, Webhook, WebhookId,
    delivery::{self, Abandonment, DeliveryResult, RetryAdvice, Settlement, Subscription},
    webhook::{self, NewWebhook, WebhookChange},
};
use folkmoot_store::{DeliveryQuery, Error, Store};

use super::{admin, command, name};

/// How long whoever takes a delivery in a test has it.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// The same command, of which these channels want to be told what it does.
pub(crate) fn heard_by(mut command: Command, channels: &[(&str, &str)]) -> Command {
    let subscription = |(channel, pattern): &(&str, &str)| Subscription {
        channel: (*channel).to_owned(),
        events: vec![pattern.parse().unwrap()],
    };
    command.subscriptions = channels.iter().map(subscription).collect();
    command
}

pub(crate) fn take(channel: &str, limit: u32) -> Command {
    command(Actor::System, delivery::Action::Take { channel: channel.to_owned(), limit, lease: LEASE })
}

pub(crate) fn settle(delivery: &Delivery, result: DeliveryResult) -> Command {
    let Delivery { id, epoch, .. } = delivery.clone();
    command(Actor::System, delivery::Action::Settle(Box::new(Settlement { delivery: id, epoch, result })))
}

pub(crate) fn fails(reason: &str, again: RetryAdvice) -> DeliveryResult {
    DeliveryResult::Failed { reason: reason.to_owned(), again }
}

pub(crate) fn redeliver(delivery: &DeliveryId) -> Command {
    command(admin("root"), delivery::Action::Resend { delivery: delivery.clone() })
}

pub(crate) fn abandon(channel: &str) -> Command {
    abandon_all(&[channel.to_owned()])
}

pub(crate) fn abandon_all(channels: &[String]) -> Command {
    let lost =
        |channel: &String| Abandonment { channel: channel.clone(), reason: format!("no {channel}"), overdue: None };
    command(Actor::System, delivery::Action::Abandon(channels.iter().map(lost).collect()))
}

pub(crate) fn hook(id: &str, channel: &str) -> Command {
    let (id, url, key) = (id.parse().unwrap(), "https://example.com/hook?a=1".to_owned(), "key-1".parse().unwrap());
    let new = NewWebhook { id, name: name(channel), url, events: None, key };
    command(admin("root"), webhook::Action::Create(Box::new(new)))
}

pub(crate) fn rehook(change: WebhookChange) -> Command {
    command(admin("root"), webhook::Action::Change(Box::new(change)))
}

pub(crate) fn unhook(id: &str) -> Command {
    let webhook: WebhookId = id.parse().unwrap();
    command(admin("root"), webhook::Action::Remove { webhook })
}

/// All deliveries, the oldest event first, and those of one event by channel.
pub(crate) async fn deliveries(store: &impl Store) -> Vec<Delivery> {
    let mut all = store.deliveries(DeliveryQuery { limit: 1000, ..DeliveryQuery::default() }).await.unwrap().items;
    all.sort_by_key(|delivery| (delivery.position, delivery.channel.clone()));
    all
}

#[track_caller]
pub(crate) fn deliveries_of(outcome: Result<Outcome, Error>) -> Vec<Delivery> {
    match outcome {
        Ok(Outcome::Deliveries(deliveries)) => deliveries,
        other => panic!("no deliveries: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn delivery_of(outcome: Result<Outcome, Error>) -> Delivery {
    match outcome {
        Ok(Outcome::Delivery(delivery)) => *delivery,
        other => panic!("no delivery: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn webhook_of(outcome: Result<Outcome, Error>) -> Webhook {
    match outcome {
        Ok(Outcome::Webhook(webhook)) => *webhook,
        other => panic!("no webhook: {other:?}"),
    }
}
