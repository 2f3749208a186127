//! The feed: what subscribers read of the log, in order, without gaps, and only after the commit.

use std::{sync::Arc, time::Duration};

use folkmoot_core::{Event, Fact, Principal, SessionId, TokenId};
use folkmoot_store::{Error, GateQuery, QuestionQuery, RunQuery, Store};
use tokio::sync::watch;

use crate::Engine;

/// The maximum number of events examined for a caller who sees or wants only some.
const WALKED_MAX: u32 = 1000;

/// How long the tailer waits after a failed read.
const RETRY: Duration = Duration::from_millis(200);

impl Engine {
    /// Waits for events after `after`, and returns the position reached with the events that
    /// `principal` may see.
    pub async fn follow(&self, principal: &Principal, after: u64) -> Result<(u64, Vec<Arc<Event>>), Error> {
        let events = self.0.store.follow(after).await?;
        // Apply tokens first: a caller who is told of a token finds it, and one whose token is
        // revoked is told nothing more.
        let mut unknown = false;
        events.iter().for_each(|event| unknown |= self.0.credentials.hear(event));
        if unknown {
            self.reload_credentials().await?;
        }
        let reached = events.last().map_or(after, |event| event.position);
        Ok((reached, self.visible_to(principal, events).await?))
    }

    /// The next events after `after` that `principal` may see, and the position reached; with
    /// `token`, only events caused with that token. The list may be empty although more follow.
    pub async fn events(
        &self,
        principal: &Principal,
        after: u64,
        limit: u32,
        token: Option<&TokenId>,
    ) -> Result<(u64, Vec<Event>), Error> {
        if principal.role.sees_everything() && token.is_none() {
            let events = self.0.store.events(after, limit).await?;
            return Ok((events.last().map_or(after, |event| event.position), events));
        }
        let mut events = self.0.store.events(after, WALKED_MAX.max(limit)).await?;
        let mut reached = events.last().map_or(after, |event| event.position);
        events.retain(|event| token.is_none() || event.fact.token_id.as_ref() == token);
        events = self.visible_to(principal, events).await?;
        if events.len() > limit as usize {
            events.truncate(limit as usize);
            reached = events.last().map_or(after, |event| event.position);
        }
        Ok((reached, events))
    }

    /// Filters the events that `principal` may see.
    async fn visible_to<E: std::borrow::Borrow<Event>>(
        &self,
        principal: &Principal,
        events: Vec<E>,
    ) -> Result<Vec<E>, Error> {
        if principal.role.sees_everything() {
            return Ok(events);
        }
        let mut seen = Vec::new();
        for event in events {
            let fact = &event.borrow().fact;
            let of_session = fact.session.as_ref().filter(|_| tells_of_session(fact));
            let sees = may_see(principal, event.borrow())
                || match of_session {
                    Some(session) => self.is_in_session(principal, session).await?,
                    None => false,
                };
            if sees {
                seen.push(event);
            }
        }
        Ok(seen)
    }

    /// Whether an agent works in a session: it has a run, a gate or a question there.
    pub(crate) async fn is_in_session(&self, principal: &Principal, session: &SessionId) -> Result<bool, Error> {
        let (name, session, limit) = (Some(principal.name.clone()), Some(session.clone()), 1);
        let runs = RunQuery { session: session.clone(), initiator: name.clone(), limit, ..RunQuery::default() };
        if !self.0.store.runs(runs).await?.items.is_empty() {
            return Ok(true);
        }
        let gates = GateQuery { session: session.clone(), requester: name.clone(), limit, ..GateQuery::default() };
        if !self.0.store.gates(gates).await?.items.is_empty() {
            return Ok(true);
        }
        let questions = QuestionQuery { session, concerns: name, limit, ..QuestionQuery::default() };
        Ok(!self.0.store.questions(questions).await?.items.is_empty())
    }

    /// How far this node's feed is behind the log.
    pub async fn feed_lag(&self) -> Result<FeedLag, Error> {
        let offered = self.0.store.offered();
        let events = self.0.store.head().await?.position.saturating_sub(offered);
        if events == 0 {
            return Ok(FeedLag::default());
        }
        let oldest = self.0.store.events(offered, 1).await?;
        let age = oldest.first().map_or(0, |event| self.now().as_micros() - event.fact.at.as_micros());
        Ok(FeedLag { events, age: Duration::from_micros(u64::try_from(age).unwrap_or(0)) })
    }

    /// Changes when the database has lost the end of its log: earlier positions are then invalid.
    pub fn log_epoch(&self) -> watch::Receiver<u64> {
        self.0.store.epoch()
    }

    /// Reloads everything in memory that follows the log, because the log has changed. Returns the
    /// position to follow from.
    async fn start_over(&self) -> u64 {
        loop {
            match self.try_to_start_over().await {
                Ok(position) => return position,
                Err(error) => tracing::warn!("the log cannot be read again just now: {error}"),
            }
            self.0.host.sleep(RETRY).await;
        }
    }

    async fn try_to_start_over(&self) -> Result<u64, Error> {
        // First: if the log changes again meanwhile, this read is not taken as current.
        let epoch = *self.0.epoch.borrow();
        let (position, holds) = self.0.store.holds().await?;
        self.reread_credentials().await?;
        self.reload_webhooks().await?;
        self.0.gate_cache.start_over();
        self.0.clearance.start_over(position, holds, epoch);
        self.0.waiters.start_over();
        self.restart_all_runs();
        self.0.deliveries.nudge();
        tracing::warn!("what this node keeps in memory was read again; the log ends at {position}");
        Ok(position)
    }

    /// The position of the last event.
    pub async fn position(&self) -> Result<u64, Error> {
        Ok(self.0.store.head().await?.position)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedLag {
    pub events: u64,
    pub age: Duration,
}

/// One per node: wakes waiters, and notices tokens and webhooks that other nodes created, changed
/// or ended.
pub(crate) async fn tail(engine: Engine, mut last: u64) {
    let mut epoch = engine.log_epoch();
    // It may have changed while the engine started.
    epoch.mark_changed();
    loop {
        let followed = tokio::select! {
            biased;
            Ok(()) = epoch.changed() => {
                if *epoch.borrow_and_update() > engine.0.clearance.epoch() {
                    last = engine.start_over().await;
                }
                continue;
            }
            followed = engine.0.store.follow(last) => followed,
        };
        // The events may belong to a newer log.
        if epoch.has_changed().unwrap_or(false) {
            continue;
        }
        let events = match followed {
            Ok(events) => events,
            Err(error) => {
                tracing::warn!("the log cannot be read just now: {error}");
                engine.0.host.sleep(RETRY).await;
                continue;
            }
        };
        let (mut tokens_unknown, mut webhooks_changed, mut tells) = (false, false, false);
        for event in &events {
            last = event.position;
            // Before any waiter is told of later events.
            tokens_unknown |= engine.0.credentials.hear(event);
            webhooks_changed |= event.fact.kind.starts_with("webhook.");
            // In this order: a waiter that registers and finds an older gate in the cache will
            // still receive the event.
            tells |= engine.0.gate_cache.apply(event) || engine.0.channels.want(&event.fact.kind);
            engine.0.clearance.apply(event);
            engine.0.waiters.deliver(event);
            engine.hear(event);
            tell_operator(event);
            metrics::counter!("folkmoot_events_total", "type" => event.fact.kind.clone()).increment(1);
        }
        engine.0.clearance.applied(last);
        metrics::gauge!("folkmoot_log_position").set(last as f64);
        // Until it succeeds: a lost connection must not lose a token created elsewhere.
        while tokens_unknown && let Err(error) = engine.reload_credentials().await {
            tracing::warn!("tokens cannot be read just now: {error}");
            engine.0.host.sleep(RETRY).await;
        }
        while webhooks_changed && let Err(error) = engine.reload_webhooks().await {
            tracing::warn!("webhooks cannot be read just now: {error}");
            engine.0.host.sleep(RETRY).await;
        }
        if tells || webhooks_changed {
            engine.0.deliveries.nudge();
        }
    }
}

/// Logs what an operator should see. Events of single agents are left out; they would be too many
/// under load.
fn tell_operator(event: &Event) {
    let (kind, by) = (&event.fact.kind, &event.fact.stream);
    match kind.as_ref() {
        "system.halted" => tracing::warn!(stream = %by, "everyone is halted by {by}"),
        "system.resumed" => tracing::warn!(stream = %by, "everyone is resumed: {by} was the last that held them"),
        "session.halted" | "session.resumed" => {
            let session = event.fact.session.as_ref().map_or("?", |session| session.as_str());
            tracing::info!(stream = %by, session, "{kind} {session} by {by}");
        }
        "agent.halted" | "agent.resumed" => tracing::debug!(stream = %by, "{kind} by {by}: {}", event.fact.payload),
        _ => {}
    }
}

/// Agents in a session may see that it was halted or resumed. Older servers wrote answers there,
/// which are hidden.
fn tells_of_session(fact: &Fact) -> bool {
    matches!(fact.kind.as_ref(), "session.halted" | "session.resumed") && !fact.payload.contains(r#""answer":"#)
}

/// Agents see events of their own gates, questions and runs, their own actions, and halts of
/// everyone.
fn may_see(principal: &Principal, event: &Event) -> bool {
    #[derive(serde::Deserialize)]
    struct Owner {
        requested_by: Option<folkmoot_core::Name>,
        initiator: Option<folkmoot_core::Name>,
        asked_by: Option<folkmoot_core::Name>,
        raised_by: Option<folkmoot_core::Name>,
        agent_id: Option<folkmoot_core::Name>,
    }
    let owned = || {
        let owner = serde_json::from_str::<Owner>(&event.fact.payload);
        owner.is_ok_and(|Owner { requested_by, initiator, asked_by, raised_by, agent_id }| {
            let names = [requested_by, initiator, asked_by, raised_by, agent_id];
            names.iter().flatten().any(|name| *name == principal.name)
        })
    };
    let Fact { kind, stream, actor, on_behalf_of, .. } = &event.fact;
    // A workflow's own event has any payload, which may name anybody.
    let told = stream.starts_with("run:") && !kind.starts_with("run.") && !kind.starts_with("step.");
    let own = || if told { on_behalf_of.as_ref() == Some(&principal.name) } else { owned() };
    // A refused caller was told why. The event reveals more: whose it is, and in which session.
    let did = *actor == principal.name && !kind.ends_with(".refused");
    let of_everyone = kind.starts_with("system.") && !event.fact.payload.contains(r#""answer":"#);
    principal.role.sees_everything() || of_everyone || did || own()
}
