//! A debate as server-sent events: what the log has of it, from its beginning or from where somebody left. The last frame is always
//! `debate.ended`, with the debate as it is then.

use std::{collections::VecDeque, convert::Infallible};

use axum::response::sse;
use folkmoot_api::wire;
use folkmoot_core::{Event, RunId, SessionId};
use folkmoot_engine::Error;
use futures_util::{Stream, stream};

use super::{held, is_over};
use crate::{app::App, auth::Authenticated, plans::happened};

/// How many events are read at once.
const EVENTS: u32 = 200;
/// What happens in a debate. Its steps are its journal's to tell.
const SHOWN: [&str; 4] = ["debate.", "gate.", "question.", "run."];
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
    let follower = Follower { app, who, id, session, position, ready: VecDeque::new(), ended: false };
    stream::unfold(follower, |mut follower| async move {
        let frame = follower.next().await?;
        Some((Ok(frame), follower))
    })
}

struct Follower {
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
    ready: VecDeque<sse::Event>,
    ended: bool,
}

impl Follower {
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
        // Both before the look: what comes after it is waited for, and what belongs to the end is seen before the end is told.
        let end = engine.position().await?;
        let over = is_over(&engine.run(&principal, &self.id).await?);
        let events = engine.events_of_run(&principal, &self.id, self.position, EVENTS).await?;
        for event in &events {
            self.position = event.position;
            if SHOWN.iter().any(|front| event.fact.kind.starts_with(front)) {
                self.ready.push_back(frame(event));
            }
        }
        if !events.is_empty() {
            return Ok(());
        }
        if over {
            let debate = held(&engine, &principal, &self.id).await?;
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
        self.ended |= engine.authenticate(&self.who.secret).is_none();
        Ok(())
    }
}

fn frame(event: &Event) -> sse::Event {
    let told = serde_json::to_string(&wire::Event::new(event)).unwrap_or_default();
    sse::Event::default().event(event.fact.kind.as_ref()).id(event.position.to_string()).data(told)
}
