//! A delivery: one message about one event, to one channel.
//!
//! ```text
//!   commit ─▶ Waiting ──take──▶ Sending ──told──────────────▶ Delivered
//!              ▲   ▲              │  └──never, or once too often──▶ Dead
//!              │   └──not now─────┘                               │
//!              └────────────────────resend────────────────────────┘
//! ```
//!
//! It is written in the commit of its event, so that nobody is told of what did not happen, and
//! what happened is told. Who takes it has a lease; whoever comes after the lease sends it again,
//! under the same id. A delivery never touches what it tells of: a channel that fails neither opens
//! nor closes a gate.

mod action;
mod pattern;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, time::Duration};

use serde::{Deserialize, Serialize};

pub use action::{Action, Loaded, Needs};
pub use pattern::Pattern;

use crate::{Commit, DeliveryId, Digest, Event, Fact, Gate, Refusal, Row, Timestamp, text};

/// How long to wait after each attempt that failed, before the next. After the last one there is
/// none.
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
/// However much later a receiver wants it.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);
/// How often a delivery is attempted before it is dead.
pub const ATTEMPTS_MAX: u32 = PAUSES.len() as u32 + 1;
/// How many channels a gate can name, with those that the policy names for it.
pub const CHANNELS_MAX: usize = 16;
/// How many deliveries die in one commit, and to how many channels.
pub const ABANDONED_AT_ONCE: usize = 256;
/// The longest reason that is kept, in bytes.
const REASON_BYTES_MAX: usize = 1000;

/// A delivery as its row holds it. It is no fact, and in no event, except that it died or was sent
/// again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The same however often it is sent: a receiver can tell a repetition by it.
    pub id: DeliveryId,
    /// Whom to tell: the name of a webhook, or of a channel that configuration names.
    pub channel: String,
    /// The stream of the event: a gate's, question's or halt's id, `run:…`.
    pub subject: String,
    /// Of the event.
    #[serde(rename = "type")]
    pub kind: String,
    /// Of the event.
    pub position: u64,
    /// When the event happened.
    pub created_at: Timestamp,
    /// How often it was sent, since it was made or last sent again.
    pub attempts: u32,
    /// How often it was ever taken. Whoever settles it says this number: only the last one counts.
    pub epoch: u64,
    /// Why the last attempt that failed did.
    pub last_error: Option<String>,
    /// How many events its stream has.
    pub seq: u64,
    /// Where it is.
    pub state: DeliveryState,
}

/// Where a delivery is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is to be sent.
    Waiting {
        /// Not before this.
        due: Timestamp,
    },
    /// Somebody sends it.
    Sending {
        /// Afterwards somebody else may.
        until: Timestamp,
    },
    /// Its receiver has it.
    Delivered { at: Timestamp },
    /// It is not sent any more, unless somebody wants it. `last_error` says why.
    Dead { at: Timestamp },
}

vocabulary! {
    /// Where a delivery is in its life, in one word.
    pub enum DeliveryStatus {
        /// It is to be sent.
        Waiting = "waiting",
        /// Somebody sends it.
        Sending = "sending",
        /// Its receiver has it.
        Delivered = "delivered",
        /// It is not sent any more.
        Dead = "dead",
    }
}

/// Who wants to be told of which events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The name under which gates can name it too.
    pub channel: String,
    /// Which events, beside those of gates that name it.
    pub events: Vec<Pattern>,
}

/// Whom a commit tells of which of its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDelivery {
    pub channel: String,
    /// Of which, by its place in the commit.
    pub event: usize,
    /// Counts those who are told of the same event, from 0.
    pub nth: usize,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Of which delivery.
    pub delivery: DeliveryId,
    /// As it was when it was taken.
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
    /// Later, when our own schedule says.
    Later,
    /// Not before this: the receiver said so.
    After(Duration),
    /// No: it would fail the same way.
    Never,
}

/// That a channel cannot be told anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandonment {
    pub channel: String,
    pub reason: String,
    /// Only what has been due for so long: until then another node may know the channel, and send
    /// it.
    pub overdue: Option<Duration>,
}

/// Checks the channels that a gate, or the policy of all gates, names: who opens one writes a
/// message for each, in the commit that everybody else waits for.
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

/// Whom to tell of which events of a commit: the channels that the event's gate names, and those
/// who want such events. Each is told once of an event.
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

/// What is never told, whoever wants everything: what comes of telling, which would not end, and
/// attempts that were refused, of which anybody can make any number.
fn is_told(kind: &str) -> bool {
    !(kind.ends_with(".refused") || kind.starts_with("delivery."))
}

/// The channels that the event's gate names, where it is one that they are told of.
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
    /// A new one, of an event in its place.
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

    /// The one word for where it is.
    pub fn status(&self) -> DeliveryStatus {
        match self.state {
            DeliveryState::Waiting { .. } => DeliveryStatus::Waiting,
            DeliveryState::Sending { .. } => DeliveryStatus::Sending,
            DeliveryState::Delivered { .. } => DeliveryStatus::Delivered,
            DeliveryState::Dead { .. } => DeliveryStatus::Dead,
        }
    }

    /// When somebody is to send it, where somebody is.
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

    /// Whether somebody is to send it now.
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

/// Judges a taking; `None` where there is nothing to be sent now. One that was sent as often as is
/// good, and of which nobody ever heard, dies instead: it may be what kills whoever sends it.
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

/// Judges how an attempt ended; `None` where it is not this one that counts.
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

/// How many of what waits for each channel die in one commit, of so many channels.
pub fn abandoned_of_each(channels: usize) -> u32 {
    ABANDONED_AT_ONCE.checked_div(channels).unwrap_or_default().max(1) as u32
}

/// Judges an abandonment, for want of a channel; `None` where it is under way, or over, or has not
/// been due for as long as another node is given to send it.
fn abandon(delivery: &Delivery, lost: &Abandonment, now: Timestamp) -> Option<Delivery> {
    let waits = match delivery.state {
        DeliveryState::Waiting { .. } => true,
        DeliveryState::Sending { until } => until <= now,
        DeliveryState::Delivered { .. } | DeliveryState::Dead { .. } => false,
    };
    let is_late = |span: Duration| delivery.due().is_some_and(|due| due.plus(span) <= now);
    (waits && lost.overdue.is_none_or(is_late)).then(|| delivery.died(&lost.reason, now))
}

/// Judges a resending: it is due now, as if it had never been tried.
fn resend(delivery: &Delivery, now: Timestamp) -> Result<Delivery, Refusal> {
    if let DeliveryState::Sending { until } = delivery.state
        && until > now
    {
        return Err(Refusal::DeliveryUnderWay { delivery: delivery.id.clone(), until });
    }
    Ok(Delivery { attempts: 0, seq: delivery.seq + 1, state: DeliveryState::Waiting { due: now }, ..delivery.clone() })
}

/// How long to wait after so many attempts, a fifth more or less: whatever failed together is not
/// tried again together.
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
