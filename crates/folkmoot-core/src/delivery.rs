//! A delivery: one message about one event, to one channel.
//!
//! ```text
//!   commit ─▶ Waiting ──take──▶ Sending ──told──────────────▶ Delivered
//!              ▲   ▲              │  └──never, or once too often──▶ Dead
//!              │   └──not now─────┘                               │
//!              └────────────────────resend────────────────────────┘
//! ```
//!
//! It is written in the same commit as its event, so that every event is delivered and nothing is
//! delivered that did not happen. A node that takes it has a lease. After the lease another node
//! may send it again, under the same id. A delivery never changes what it is about: a channel that
//! fails neither opens nor closes a gate.

mod action;
mod pattern;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use serde::{Deserialize, Serialize};

pub use action::{Action, Loaded, Needs};
pub use pattern::Pattern;

use crate::{Commit, DeliveryId, Digest, Event, Fact, Gate, Refusal, Row, Timestamp, text};

/// How long to wait after each failed attempt before the next one. After the attempt that follows
/// the last pause, the delivery is dead.
const PAUSES: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(3600),
    Duration::from_secs(3 * 3600),
    Duration::from_secs(6 * 3600),
    Duration::from_secs(12 * 3600),
    PAUSE_MAX,
];
/// The longest pause, even if a receiver asks for a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);
/// How often a delivery is attempted before it is dead.
pub const ATTEMPTS_MAX: u32 = PAUSES.len() as u32 + 1;
/// The maximum number of channels of a gate, including those of the policy.
pub const CHANNELS_MAX: usize = 16;
/// The maximum number of deliveries that one commit abandons, and of channels to which they go.
pub const ABANDONED_AT_ONCE: usize = 256;
/// The longest reason that is stored, in bytes.
const REASON_BYTES_MAX: usize = 1000;

/// A delivery as stored in its row. The log has no events of it, except that it died or was sent
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The same however often it is sent, so that a receiver can recognise a repetition.
    pub id: DeliveryId,
    /// The name of a webhook, or of a channel in the configuration.
    pub channel: String,
    /// The stream of the event: a gate's, question's or halt's id, `run:…`.
    pub subject: String,
    /// The type of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// The position of the event.
    pub position: u64,
    /// When the event happened.
    pub created_at: Timestamp,
    /// How often it was tried since it was created, or since somebody last had it sent again.
    pub attempts: u32,
    /// How often it was ever taken. A settlement must name this number, so that only the one of the
    /// last taker counts.
    pub epoch: u64,
    /// Why the last failed attempt failed.
    pub last_error: Option<String>,
    /// How many events its stream has.
    pub seq: u64,
    pub state: DeliveryState,
}

/// Where a delivery is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits to be sent.
    Waiting {
        /// It is not sent before this.
        due: Timestamp,
    },
    /// A node is sending it.
    Sending {
        /// The end of the lease. After this, another node may take it.
        until: Timestamp,
    },
    /// Its receiver has it.
    Delivered { at: Timestamp },
    /// It is not sent any more, unless an admin has it sent again. `last_error` says why.
    Dead { at: Timestamp },
}

vocabulary! {
    /// Where a delivery is in its life, in one word.
    pub enum DeliveryStatus {
        /// It waits to be sent.
        Waiting = "waiting",
        /// A node is sending it.
        Sending = "sending",
        /// Its receiver has it.
        Delivered = "delivered",
        /// It is not sent any more.
        Dead = "dead",
    }
}

/// Which events a channel receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The channel's name. Gates can name it too.
    pub channel: String,
    /// The events that it receives, in addition to those of gates that name it.
    pub events: Vec<Pattern>,
}

/// A delivery of one of a commit's events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    pub channel: String,
    /// The index of the event in the commit.
    pub event: usize,
    /// Counts the deliveries of the same event, from 0.
    pub nth: usize,
}

/// A node's report of how its attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    pub delivery: DeliveryId,
    /// The delivery's epoch when the node took it.
    pub epoch: u64,
    pub result: DeliveryResult,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryResult {
    /// The receiver has it.
    Delivered,
    /// The receiver does not have it, as far as is known.
    Failed {
        reason: String,
        /// Whether it may help to try again.
        again: RetryAdvice,
    },
}

/// Whether it may help to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAdvice {
    /// Yes, at the time that our own schedule gives.
    Later,
    /// Yes, but not before this much time has passed: the receiver asked for it.
    After(Duration),
    /// No: it would fail the same way.
    Never,
}

/// Says that a channel cannot receive anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandonment {
    pub channel: String,
    pub reason: String,
    /// If set, only deliveries that have been due for this long are abandoned. Until then another
    /// node may know the channel, and send them.
    pub overdue: Option<Duration>,
}

/// Checks the channels that a gate, or the policy of all gates, names. Their number is limited
/// because opening a gate writes a delivery for each, in a commit that everybody else waits for.
pub(crate) fn check_channels<'a>(
    field: &'static str,
    channels: impl IntoIterator<Item = &'a String, IntoIter: ExactSizeIterator>,
) -> Result<(), Refusal> {
    let mut channels = channels.into_iter();
    if channels.len() > CHANNELS_MAX {
        let problem = format!("names {} channels; at most {CHANNELS_MAX} are told of a gate", channels.len());
        return Err(Refusal::invalid(field, problem));
    }
    channels.try_for_each(|channel| text::check_filled(field, channel, text::TITLE_BYTES_MAX))
}

/// The deliveries of a commit's events: to the channels that the event's gate names, and to those
/// that subscribe to such events. Each channel receives an event once.
pub(crate) fn new_deliveries(commit: &Commit, subscriptions: &[Subscription]) -> Vec<NewDelivery> {
    let mut deliveries: Vec<NewDelivery> = Vec::new();
    for (event, fact) in commit.events.iter().enumerate().filter(|(_, fact)| is_told(&fact.kind)) {
        let mut told = HashSet::new();
        let named = named(commit, fact).map(String::as_str);
        let wanted = subscriptions.iter().filter(|subscription| subscription.wants(&fact.kind));
        for channel in named.chain(wanted.map(|subscription| subscription.channel.as_str())) {
            let nth = told.len();
            if told.insert(channel) {
                deliveries.push(NewDelivery { channel: channel.to_owned(), event, nth });
            }
        }
    }
    deliveries
}

/// Whether events of this kind are delivered at all. Events of deliveries are not, because that
/// would never end. Neither are refused attempts, because anybody can make any number of them.
fn is_told(kind: &str) -> bool {
    !(kind.ends_with(".refused") || kind.starts_with("delivery."))
}

/// The channels that the event's gate names, if they receive events of this kind.
fn named<'a>(commit: &'a Commit, fact: &Fact) -> impl Iterator<Item = &'a String> {
    let escalated = fact.kind == "gate.escalated";
    let told = escalated || matches!(fact.kind.as_ref(), "gate.opened" | "gate.reminded" | "gate.decided");
    let gate = |row: &'a Row| match row {
        Row::Gate(gate) if *gate.id.as_str() == *fact.stream => Some(gate.as_ref()),
        _ => None,
    };
    let gate: Option<&'a Gate> = commit.rows.iter().filter(|_| told).find_map(gate);
    let further = gate.filter(|_| escalated).into_iter().flat_map(|gate| &gate.reminders.escalate_to);
    gate.into_iter().flat_map(|gate| &gate.notification_channels).chain(further)
}

impl Subscription {
    fn wants(&self, kind: &str) -> bool {
        self.events.iter().any(|pattern| pattern.matches(kind))
    }
}

impl Delivery {
    /// A new delivery of an event that has its position in the log.
    pub fn new(telling: &NewDelivery, event: &Event) -> Self {
        let hash = event.hash.hex();
        let id = format!("dlv-{}-{}-{}", event.position, &hash[..16], telling.nth);
        Self {
            id: id.parse().expect("digits, letters and dashes are an id"),
            channel: telling.channel.clone(),
            subject: event.fact.stream.to_string(),
            kind: event.fact.kind.to_string(),
            position: event.position,
            created_at: event.fact.at,
            attempts: 0,
            epoch: 0,
            last_error: None,
            seq: 0,
            state: DeliveryState::Waiting { due: event.fact.at },
        }
    }

    /// Its stream in the log.
    pub fn stream(&self) -> String {
        format!("delivery:{}", self.id)
    }

    pub fn status(&self) -> DeliveryStatus {
        match self.state {
            DeliveryState::Waiting { .. } => DeliveryStatus::Waiting,
            DeliveryState::Sending { .. } => DeliveryStatus::Sending,
            DeliveryState::Delivered { .. } => DeliveryStatus::Delivered,
            DeliveryState::Dead { .. } => DeliveryStatus::Dead,
        }
    }

    /// When a node may take it; `None` once it is delivered or dead.
    pub fn due(&self) -> Option<Timestamp> {
        match self.state {
            DeliveryState::Waiting { due } | DeliveryState::Sending { until: due } => Some(due),
            DeliveryState::Delivered { .. } | DeliveryState::Dead { .. } => None,
        }
    }

    /// When it was delivered, or died.
    pub fn ended_at(&self) -> Option<Timestamp> {
        match self.state {
            DeliveryState::Waiting { .. } | DeliveryState::Sending { .. } => None,
            DeliveryState::Delivered { at } | DeliveryState::Dead { at } => Some(at),
        }
    }

    /// Whether a node may take it now.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    fn died(&self, reason: &str, now: Timestamp) -> Delivery {
        Delivery {
            last_error: Some(text::shortened(reason, REASON_BYTES_MAX)),
            seq: self.seq + 1,
            state: DeliveryState::Dead { at: now },
            ..self.clone()
        }
    }
}

/// Judges whether a node may take it; `None` if it is not due. A delivery that was taken
/// [`ATTEMPTS_MAX`] times and whose last attempt was never settled dies instead: it may be what
/// crashes the nodes that send it.
fn take(delivery: &Delivery, lease: Duration, now: Timestamp) -> Option<Delivery> {
    if !delivery.is_due(now) {
        return None;
    }
    if delivery.attempts >= ATTEMPTS_MAX {
        let reason = delivery.last_error.as_deref().unwrap_or("nobody who sent it ever said what came of it");
        return Some(delivery.died(reason, now));
    }
    let (attempts, epoch) = (delivery.attempts + 1, delivery.epoch + 1);
    Some(Delivery { attempts, epoch, state: DeliveryState::Sending { until: now.plus(lease) }, ..delivery.clone() })
}

/// Judges a settlement; `None` if it is not that of the current attempt.
fn settle(delivery: &Delivery, settlement: &Settlement, now: Timestamp) -> Option<Delivery> {
    if delivery.epoch != settlement.epoch || delivery.status() != DeliveryStatus::Sending {
        return None;
    }
    let (reason, again) = match &settlement.result {
        DeliveryResult::Delivered => {
            return Some(Delivery { state: DeliveryState::Delivered { at: now }, ..delivery.clone() });
        }
        DeliveryResult::Failed { reason, again } => (reason, again),
    };
    let pause = pause_after(&delivery.id, delivery.attempts);
    let pause = match again {
        RetryAdvice::Later => pause,
        RetryAdvice::After(span) => pause.map(|pause| pause.max((*span).min(PAUSE_MAX))),
        RetryAdvice::Never => None,
    };
    Some(match pause {
        Some(pause) => Delivery {
            last_error: Some(text::shortened(reason, REASON_BYTES_MAX)),
            state: DeliveryState::Waiting { due: now.plus(pause) },
            ..delivery.clone()
        },
        None => delivery.died(reason, now),
    })
}

/// How many deliveries of each channel one commit abandons, if it abandons this many channels.
pub fn abandoned_of_each(channels: usize) -> u32 {
    ABANDONED_AT_ONCE.checked_div(channels).unwrap_or_default().max(1) as u32
}

/// Judges the abandonment of a delivery whose channel cannot receive anything. `None` if it is
/// being sent, is delivered or dead, or has not been due for as long as other nodes are given to
/// send it.
fn abandon(delivery: &Delivery, lost: &Abandonment, now: Timestamp) -> Option<Delivery> {
    let waits = match delivery.state {
        DeliveryState::Waiting { .. } => true,
        DeliveryState::Sending { until } => until <= now,
        DeliveryState::Delivered { .. } | DeliveryState::Dead { .. } => false,
    };
    let is_late = |span: Duration| delivery.due().is_some_and(|due| due.plus(span) <= now);
    (waits && lost.overdue.is_none_or(is_late)).then(|| delivery.died(&lost.reason, now))
}

/// Judges whether it may be sent again. It is then due now, as if it had never been tried.
fn resend(delivery: &Delivery, now: Timestamp) -> Result<Delivery, Refusal> {
    if let DeliveryState::Sending { until } = delivery.state
        && until > now
    {
        return Err(Refusal::DeliveryUnderWay { delivery: delivery.id.clone(), until });
    }
    Ok(Delivery { attempts: 0, seq: delivery.seq + 1, state: DeliveryState::Waiting { due: now }, ..delivery.clone() })
}

/// How long to wait after this many attempts. The pause is varied by up to a fifth, so that
/// deliveries that failed together are not tried again together.
fn pause_after(id: &DeliveryId, attempts: u32) -> Option<Duration> {
    let pause = PAUSES.get((attempts as usize).checked_sub(1)?)?;
    let [first, second, ..] = *Digest::of(format!("{id} {attempts}").as_bytes()).as_bytes();
    let per_mille = 800 + u32::from(u16::from_be_bytes([first, second])) % 401;
    Some(*pause * per_mille / 1000)
}

/// The payload of the event that a delivery has died, or is sent again.
#[derive(Serialize)]
struct DeliveryEvent<'a> {
    delivery: &'a DeliveryId,
    channel: &'a str,
    subject: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    position: u64,
    attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> From<&'a Delivery> for DeliveryEvent<'a> {
    fn from(delivery: &'a Delivery) -> Self {
        Self {
            delivery: &delivery.id,
            channel: &delivery.channel,
            subject: &delivery.subject,
            kind: &delivery.kind,
            position: delivery.position,
            attempts: delivery.attempts,
            reason: delivery.last_error.as_deref(),
        }
    }
}
