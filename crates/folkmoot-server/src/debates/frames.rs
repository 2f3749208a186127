//! A debate as server-sent events: what the log has of it, from its beginning or from where
//! somebody left. The last frame is always `debate.ended`, with the debate as it is then.

use std::{collections::VecDeque, convert::Infallible};

use axum::response::sse;
use folkmoot_api::wire;
use folkmoot_core::{Event, RunId, SessionId, debate::DebateEvent};
use folkmoot_engine::Error;
use futures_util::{Stream, stream};
use serde_json::{Value, json};

use super::{held, is_over};
use crate::{app::App, auth::Authenticated, plans::happened};

/// How many events are read at once.
const EVENTS: u32 = 200;
/// What happens in a debate. Its steps are its journal's to tell.
const SHOWN: [&str; 4] = ["debate.", "gate.", "question.", "run."];
/// How much of what was said is shown to whoever watches.
const BEGINS_CHARS: usize = 200;
/// The last frame.
const ENDED: &str = "debate.ended";

/// Everything after `position`, until the debate is over.
pub(crate) fn follow(
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let follower = DebateFollower { app, who, id, session, position, ready: VecDeque::new(), ended: false };
    stream::unfold(follower, |mut follower| async move {
        let frame = follower.next().await?;
        Some((Ok(frame), follower))
    })
}

struct DebateFollower {
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
    ready: VecDeque<sse::Event>,
    ended: bool,
}

impl DebateFollower {
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read().await {
                // Whoever comes back with the last id misses nothing.
                tracing::warn!("the events of debate {} end early: {error}", self.id);
                return None;
            }
        }
    }

    /// Reads what there is; waits for more where there is nothing.
    async fn read(&mut self) -> Result<(), Error> {
        let (engine, principal) = (self.app.engine.clone(), self.who.principal.clone());
        // Both before the look: what comes after it is waited for, and what belongs to the end is
        // seen before the end is told.
        let end = engine.position().await?;
        let over = is_over(&engine.run(&principal, &self.id).await?);
        let events = engine.events_of_run(&principal, &self.id, self.position, EVENTS).await?;
        for event in &events {
            self.position = event.position;
            if SHOWN.iter().any(|front| event.fact.kind.starts_with(front)) {
                self.ready.push_back(self.frame(event).await?);
            }
        }
        if !events.is_empty() {
            return Ok(());
        }
        if over {
            let debate = held(&self.app, &principal, &self.id).await?;
            // Whoever comes back after the end is told it again.
            let told = serde_json::to_string(&debate.on_the_wire()).unwrap_or_default();
            self.ready.push_back(sse::Event::default().event(ENDED).id(self.position.to_string()).data(told));
            self.ended = true;
            return Ok(());
        }
        tokio::select! {
            reached = happened(&engine, &principal, &self.session, end.max(self.position)) => drop(reached?),
            () = self.app.closing.cancelled() => self.ended = true,
        }
        Ok(())
    }

    /// An event, and what was said in the turn that it tells of, unless that was erased: for who
    /// watches.
    async fn frame(&self, event: &Event) -> Result<sse::Event, Error> {
        let mut told = wire::Event::new(event);
        let turn = match DebateEvent::read(&event.fact.kind, &event.fact.payload) {
            Some(DebateEvent::Turn { turn, .. } | DebateEvent::Reflected { turn, .. }) => {
                self.app.engine.turn(&self.who.principal, &self.id, &turn).await?
            }
            _ => None,
        };
        if let Some(turn) = turn
            && let Ok(mut payload) = serde_json::from_str::<Value>(told.payload.get())
        {
            let begins = turn.content.map(|content| content.chars().take(BEGINS_CHARS).collect::<String>());
            payload["begins"] = json!(begins);
            if let Some(reflections) = turn.reflections.filter(Value::is_object) {
                payload["reflection"] = reflections;
            }
            if let Ok(whole) = serde_json::value::to_raw_value(&payload) {
                told.payload = whole.into();
            }
        }
        let data = serde_json::to_string(&told).unwrap_or_default();
        Ok(sse::Event::default().event(event.fact.kind.as_ref()).id(event.position.to_string()).data(data))
    }
}
