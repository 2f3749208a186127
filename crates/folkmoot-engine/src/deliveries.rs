//! Sends notifications. The store's outbox is authoritative; memory holds only what is being sent
//! here.
//!
//! Delivery is at least once: a node that dies between sending and recording leaves a lease behind,
//! and after it the same message is sent again. Nothing here touches what a message is about.

#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    Delivery, Outcome, Timestamp,
    delivery::{self, ABANDONED_AT_ONCE, Abandonment, DeliveryResult, DeliveryStatus, Settlement},
};
use folkmoot_store::{Error, Store, WaitingFor};
use futures_util::future::join_all;
use tokio::sync::{Notify, oneshot};

use crate::{Courier, CourierFailure, CourierMessage, Engine, channels::ChannelTarget, lock::lock};

/// Check at least this often: another node may have written something and died.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 16;
/// Concurrent messages to one channel, so that a slow receiver delays nobody else.
const AT_ONCE_TO_ONE: usize = 4;
/// How long a claimed message belongs to its node.
const LEASE: Duration = Duration::from_secs(60);
/// How long a courier may take. Less than the lease, so that the result can be recorded in time.
const COURIER_TIMEOUT: Duration = Duration::from_secs(45);
/// How long an unknown channel may belong to another node, if there are others.
const UNKNOWN_FOR: Duration = Duration::from_secs(60);
const CHANNELS: u32 = 1000;
/// How long shutdown waits for messages in flight.
const GRACE: Duration = Duration::from_secs(3);
const COUNT_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug)]
pub(crate) struct Deliveries {
    courier: Option<Arc<dyn Courier>>,
    /// Messages in flight or claimed, per channel.
    under_way: Mutex<HashMap<String, usize>>,
    /// Notified when nothing is in flight any more.
    idle: Notify,
    nudged: Notify,
    served: Mutex<SlotHistory>,
    /// Channels that are left to other nodes, and were logged.
    left: Mutex<HashSet<String>>,
    /// Whether something was sent or died since the last count.
    moved: AtomicBool,
}

impl Deliveries {
    pub(crate) fn new(courier: Option<Arc<dyn Courier>>) -> Self {
        Self {
            courier,
            under_way: Mutex::default(),
            idle: Notify::new(),
            nudged: Notify::new(),
            served: Mutex::default(),
            left: Mutex::default(),
            moved: AtomicBool::new(true),
        }
    }

    pub(crate) fn has_courier(&self) -> bool {
        self.courier.is_some()
    }

    /// Wakes the watcher, because something may be due.
    pub(crate) fn nudge(&self) {
        self.nudged.notify_one();
    }

    fn is_idle(&self) -> bool {
        lock(&self.under_way).is_empty()
    }
}

/// When each channel last got a slot, counted in slots.
#[derive(Debug, Default)]
struct SlotHistory {
    times: u64,
    last: HashMap<String, u64>,
}

impl SlotHistory {
    fn note(&mut self, channel: &str) {
        self.times += 1;
        self.last.insert(channel.to_owned(), self.times);
    }

    fn last(&self, channel: &str) -> u64 {
        self.last.get(channel).copied().unwrap_or_default()
    }
}

/// A channel's slot, held from before a delivery is claimed until it is sent.
struct ChannelSlot {
    engine: Engine,
    channel: String,
    /// Whether something was sent with this slot.
    used: bool,
}

impl ChannelSlot {
    fn take(engine: &Engine, channel: &str) -> Self {
        *lock(&engine.0.deliveries.under_way).entry(channel.to_owned()).or_default() += 1;
        lock(&engine.0.deliveries.served).note(channel);
        Self { engine: engine.clone(), channel: channel.to_owned(), used: false }
    }
}

impl Drop for ChannelSlot {
    fn drop(&mut self) {
        let deliveries = &self.engine.0.deliveries;
        let mut under_way = lock(&deliveries.under_way);
        if let Some(count) = under_way.get_mut(&self.channel) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.channel);
            }
        }
        if under_way.is_empty() {
            deliveries.idle.notify_one();
        }
        drop(under_way);
        // If nothing could be claimed, there is nothing to look for yet.
        if self.used {
            deliveries.moved.store(true, Ordering::Relaxed);
            deliveries.nudge();
        }
    }
}

pub(crate) async fn watch(engine: Engine) {
    let mut count_at = engine.now();
    loop {
        let pause = match engine.send_due().await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!("nothing can be delivered just now: {error}");
                LOOK_EVERY
            }
        };
        if engine.now() >= count_at && engine.0.deliveries.moved.swap(false, Ordering::Relaxed) {
            count_at = engine.now().plus(COUNT_EVERY);
            if let Err(error) = engine.count_deliveries().await {
                tracing::debug!("deliveries cannot be counted just now: {error}");
            }
        }
        tokio::select! {
            biased;
            () = engine.0.deliveries.nudged.notified() => {}
            () = engine.0.host.sleep(pause) => {}
        }
    }
}

impl Engine {
    /// Starts sending everything that is due and has a slot. Returns how long to wait.
    async fn send_due(&self) -> Result<Duration, Error> {
        loop {
            let (waiting, lost) = self.waiting().await?;
            let now = self.now();
            let (due, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|waiting| waiting.due <= now);
            let next = later.iter().map(|waiting| waiting.due).min().unwrap_or(now.plus(LOOK_EVERY));
            let due: Vec<String> = due.into_iter().map(|waiting| waiting.channel).collect();
            // If there is no slot, the next one that is freed nudges.
            let places = share(&lock(&self.0.deliveries.under_way), &lock(&self.0.deliveries.served), &due);
            let takes = due.into_iter().zip(places).filter(|(_, places)| *places > 0);
            let takes: Vec<_> = takes.map(|(channel, places)| self.take_and_send(channel, places)).collect();
            let mut taken = 0;
            for sent in join_all(takes).await {
                // No answer means that the task, and so the runtime, is gone.
                taken += sent.unwrap_or(Ok(0))?;
            }
            self.abandon(lost).await?;
            if taken == 0 {
                return Ok(next.since(now).min(LOOK_EVERY));
            }
        }
    }

    /// The waiting messages that this node can send, and the channels that will never receive any:
    /// disabled ones, and those unknown for too long.
    async fn waiting(&self) -> Result<(Vec<WaitingFor>, Vec<String>), Error> {
        let (mut found, mut lost) = (Vec::new(), Vec::new());
        let mut after = String::new();
        // Read all of it: invented names wait for a while, and must not hide others.
        loop {
            let page = self.0.store.waiting(&after, CHANNELS).await?;
            let is_last = page.len() < CHANNELS as usize;
            after = page.last().map(|waiting| waiting.channel.clone()).unwrap_or_default();
            for waiting in page {
                match self.0.channels.find(&waiting.channel) {
                    ChannelTarget::Configured | ChannelTarget::Webhook(_) => found.push(waiting),
                    ChannelTarget::OfAnotherKey(why) => self.leave_to_others(waiting.channel, &why),
                    ChannelTarget::Mute(_) => lost.push(waiting.channel),
                    ChannelTarget::Unknown(_) if self.is_given_up(&waiting) => lost.push(waiting.channel),
                    ChannelTarget::Unknown(_) => {}
                }
            }
            if is_last {
                break;
            }
        }
        Ok((found, lost))
    }

    /// How long a due message may belong to another node.
    fn unknown_for(&self) -> Option<Duration> {
        self.0.store.is_shared().then_some(UNKNOWN_FOR)
    }

    /// Whether a message has waited for an unknown channel so long that no other node can know it.
    fn is_given_up(&self, waiting: &WaitingFor) -> bool {
        self.unknown_for().is_none_or(|span| waiting.due.plus(span) <= self.now())
    }

    fn leave_to_others(&self, channel: String, why: &str) {
        if lock(&self.0.deliveries.left).insert(channel) {
            tracing::warn!("what is to be told waits for another server: {why}");
        }
    }

    /// Lets the messages of these channels die, many in one commit: anybody who opens a gate can
    /// invent names, and others must not wait for each of them.
    async fn abandon(&self, lost: Vec<String>) -> Result<(), Error> {
        if lost.is_empty() {
            return Ok(());
        }
        // It may be a webhook that another node has just created.
        self.reload_webhooks().await?;
        let abandonment = |channel: String| match self.0.channels.find(&channel) {
            // It is sent next time.
            ChannelTarget::Configured | ChannelTarget::Webhook(_) | ChannelTarget::OfAnotherKey(_) => None,
            ChannelTarget::Mute(reason) => Some(Abandonment { channel, reason, overdue: None }),
            ChannelTarget::Unknown(reason) => Some(Abandonment { channel, reason, overdue: self.unknown_for() }),
        };
        let lost: Vec<Abandonment> = lost.into_iter().filter_map(abandonment).collect();
        for together in lost.chunks(ABANDONED_AT_ONCE) {
            self.abandon_together(together.to_vec()).await?;
        }
        Ok(())
    }

    async fn abandon_together(&self, mut lost: Vec<Abandonment>) -> Result<(), Error> {
        loop {
            let died =
                deliveries(self.execute_command(self.system_command(delivery::Action::Abandon(lost.clone()))).await?)?;
            let messages = died.len();
            // If nothing of a channel died, there is nothing left.
            let died: HashSet<String> = died.into_iter().map(|delivery| delivery.channel).collect();
            lost.retain(|lost| died.contains(&lost.channel));
            let Some(Abandonment { channel, reason, .. }) = lost.first() else { return Ok(()) };
            let others = if lost.len() == 1 { "" } else { " and others" };
            let channels = lost.len();
            tracing::warn!(messages, channels, "what was to be told to {channel:?}{others} is dead: {reason}");
            // Invented names must not become labels.
            metrics::counter!("folkmoot_deliveries_total", "channel" => "", "result" => "dead")
                .increment(messages as u64);
            self.0.deliveries.moved.store(true, Ordering::Relaxed);
        }
    }

    /// Claims as many messages as there are slots, and sends them; returns their number. It is one
    /// task that counts as in flight before anything is claimed, and is independent of the engine's
    /// own tasks, so that claimed messages are sent and recorded even during shutdown.
    fn take_and_send(&self, channel: String, places: usize) -> oneshot::Receiver<Result<usize, Error>> {
        let places: Vec<ChannelSlot> = (0..places).map(|_| ChannelSlot::take(self, &channel)).collect();
        let (answer, answered) = oneshot::channel();
        let engine = self.clone();
        self.0.host.spawn(Box::pin(async move {
            let taken = engine.take(channel, places.len()).await.map(|taken| {
                let sent = taken.len();
                taken.into_iter().zip(places).for_each(|(delivery, place)| engine.send(delivery, place));
                sent
            });
            // Nobody listens after the engine has ended.
            let _ = answer.send(taken);
        }));
        answered
    }

    async fn take(&self, channel: String, places: usize) -> Result<Vec<Delivery>, Error> {
        let action = delivery::Action::Take { channel, limit: places as u32, lease: LEASE };
        deliveries(self.execute_command(self.system_command(action)).await?)
    }

    fn send(&self, delivery: Delivery, mut place: ChannelSlot) {
        let Some(courier) = self.0.deliveries.courier.clone() else { return };
        place.used = true;
        let engine = self.clone();
        self.0.host.spawn(Box::pin(async move {
            let lease_ends = engine.now().plus(LEASE);
            let (id, epoch) = (delivery.id.clone(), delivery.epoch);
            let result = match engine.carry(courier, delivery).await {
                Ok(()) => DeliveryResult::Delivered,
                Err(CourierFailure { reason, again }) => DeliveryResult::Failed { reason, again },
            };
            engine.settle(Settlement { delivery: id, epoch, result }, lease_ends).await;
            drop(place);
        }));
    }

    async fn carry(&self, courier: Arc<dyn Courier>, delivery: Delivery) -> Result<(), CourierFailure> {
        let letter = self.letter(delivery).await?;
        tokio::select! {
            biased;
            carried = courier.deliver(letter) => carried,
            () = self.0.host.sleep(COURIER_TIMEOUT) => {
                Err(CourierFailure::later(format!("there was no answer within {} seconds", COURIER_TIMEOUT.as_secs())))
            }
        }
    }

    async fn letter(&self, delivery: Delivery) -> Result<CourierMessage, CourierFailure> {
        let webhook = match self.0.channels.find(&delivery.channel) {
            ChannelTarget::Configured => None,
            ChannelTarget::Webhook(webhook) => Some(*webhook),
            // It changed since the claim.
            ChannelTarget::OfAnotherKey(why) | ChannelTarget::Unknown(why) => return Err(CourierFailure::later(why)),
            ChannelTarget::Mute(why) => return Err(CourierFailure::never(why)),
        };
        let unreadable =
            |error: Error| CourierFailure::later(format!("what happened cannot be read just now: {error}"));
        let events = self.0.store.events(delivery.position.saturating_sub(1), 1).await.map_err(unreadable)?;
        let Some(event) = events.into_iter().find(|event| event.position == delivery.position) else {
            return Err(CourierFailure::never("what it tells of is not in the log any more"));
        };
        let (mut gate, mut question) = (None, None);
        if delivery.kind.starts_with("gate.")
            && let Ok(id) = delivery.subject.parse()
        {
            gate = self.0.store.gate(&id).await.map_err(unreadable)?;
        }
        if delivery.kind.starts_with("question.")
            && let Ok(id) = delivery.subject.parse()
        {
            question = self.0.store.question(&id).await.map_err(unreadable)?;
        }
        Ok(CourierMessage { delivery, at: self.now(), webhook, event, gate, question })
    }

    /// Records the result, as long as nobody else may have started to send it again.
    async fn settle(&self, settlement: Settlement, lease_ends: Timestamp) {
        loop {
            let action = delivery::Action::Settle(Box::new(settlement.clone()));
            match self.execute_command(self.system_command(action)).await {
                Ok(Outcome::Delivery(delivery)) => return report(&delivery),
                Ok(_) => return,
                Err(error) if self.now() >= lease_ends || self.0.closing.is_cancelled() => {
                    tracing::warn!("{} may be sent again: {error}", settlement.delivery);
                    return;
                }
                Err(_) => self.0.host.sleep(LOOK_EVERY).await,
            }
        }
    }

    async fn count_deliveries(&self) -> Result<(), Error> {
        let (waiting, sending) = (
            self.0.store.count_deliveries(DeliveryStatus::Waiting).await?,
            self.0.store.count_deliveries(DeliveryStatus::Sending).await?,
        );
        metrics::gauge!("folkmoot_deliveries_waiting").set((waiting + sending) as f64);
        metrics::gauge!("folkmoot_deliveries_dead")
            .set(self.0.store.count_deliveries(DeliveryStatus::Dead).await? as f64);
        Ok(())
    }

    /// Waits briefly for messages in flight.
    pub(crate) async fn finish_deliveries(&self) {
        let mut over = self.0.host.sleep(GRACE);
        while !self.0.deliveries.is_idle() {
            tokio::select! {
                biased;
                () = self.0.deliveries.idle.notified() => {}
                () = &mut over => return,
            }
        }
    }
}

/// How many messages may be sent to each channel now. Each slot goes to the channel with the fewest
/// messages in flight, and among those to the one served least recently, so that slow receivers
/// starve nobody.
fn share(under_way: &HashMap<String, usize>, served: &SlotHistory, channels: &[String]) -> Vec<usize> {
    let mut free = AT_ONCE.saturating_sub(under_way.values().sum());
    let under_way = |channel: &String| under_way.get(channel).copied().unwrap_or_default();
    let mut places: Vec<_> = channels.iter().map(|channel| (under_way(channel), served.last(channel), 0)).collect();
    while free > 0
        && let Some((here, _, new)) = places.iter_mut().min_by_key(|(here, served, _)| (*here, *served))
        && *here < AT_ONCE_TO_ONE
    {
        (*here, *new) = (*here + 1, *new + 1);
        free -= 1;
    }
    places.into_iter().map(|(_, _, new)| new).collect()
}

fn report(delivery: &Delivery) {
    let (id, channel) = (&delivery.id, &delivery.channel);
    let why = delivery.last_error.as_deref().unwrap_or_default();
    let result = match delivery.status() {
        DeliveryStatus::Delivered => "delivered",
        DeliveryStatus::Dead => {
            tracing::warn!("{id} ({} to {channel}) is dead: {why}", delivery.kind);
            "dead"
        }
        DeliveryStatus::Waiting | DeliveryStatus::Sending => {
            tracing::info!("{id} ({} to {channel}) is sent again later: {why}", delivery.kind);
            "failed"
        }
    };
    metrics::counter!("folkmoot_deliveries_total", "channel" => channel.clone(), "result" => result).increment(1);
}

fn deliveries(outcome: Outcome) -> Result<Vec<Delivery>, Error> {
    match outcome {
        Outcome::Deliveries(deliveries) => Ok(deliveries),
        other => Err(Error::Unreadable(format!("deliveries were expected, and this came: {other:?}"))),
    }
}
