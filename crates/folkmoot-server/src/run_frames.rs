//! A run as server-sent events: what the log has of it, from its beginning or from where somebody
//! left, until it is over. Debates and plans say which frames these are.

use std::{collections::VecDeque, convert::Infallible};

use axum::response::sse;
use folkmoot_core::{Event, RunId, SessionId};
use folkmoot_engine::Error;
use futures_util::{Stream, stream};

use crate::{app::App, auth::Authenticated, debates::is_over, plans::happened};

/// How many events are read at once.
const EVENTS: u32 = 200;

/// Which frames a sort of run has.
pub(crate) trait RunFrames: Send + Sync + 'static {
    /// Pushes what this event of the run's log is to those who watch.
    fn tell(run: &mut RunFollower, event: &Event) -> impl Future<Output = Result<(), Error>> + Send;

    /// Pushes the last frames of a run that is over, and ends. Whoever comes back after the end is
    /// told it again.
    fn end(run: &mut RunFollower) -> impl Future<Output = Result<(), Error>> + Send;

    /// Says that the log cannot be read. Whoever comes back with the last id misses nothing.
    fn fail(run: &mut RunFollower, error: &Error);
}

/// Everything after `position`, until the run is over.
pub(crate) fn follow<F: RunFrames>(
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let follower = RunFollower { app, who, id, session, position, ready: VecDeque::new(), ended: false };
    stream::unfold(follower, |mut follower| async move {
        let frame = follower.next::<F>().await?;
        Some((Ok(frame), follower))
    })
}

/// Somebody who watches a run.
pub(crate) struct RunFollower {
    pub(crate) app: App,
    pub(crate) who: Authenticated,
    pub(crate) id: RunId,
    pub(crate) session: SessionId,
    /// The last event that was read.
    pub(crate) position: u64,
    /// Frames that were not sent yet.
    pub(crate) ready: VecDeque<sse::Event>,
    /// Whether nothing follows after those.
    pub(crate) ended: bool,
}

impl RunFollower {
    async fn next<F: RunFrames>(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read::<F>().await {
                self.ended = true;
                F::fail(self, &error);
            }
        }
    }

    /// Reads what there is; waits for more where there is nothing.
    async fn read<F: RunFrames>(&mut self) -> Result<(), Error> {
        let (engine, principal) = (self.app.engine.clone(), self.who.principal.clone());
        // Both before the look: what comes after it is waited for, and what belongs to the end is
        // seen before the end is told.
        let end = engine.position().await?;
        let over = is_over(&engine.run(&principal, &self.id).await?);
        let events = engine.events_of_run(&principal, &self.id, self.position, EVENTS).await?;
        for event in &events {
            self.position = event.position;
            F::tell(self, event).await?;
            if self.ended {
                return Ok(());
            }
        }
        if !events.is_empty() {
            return Ok(());
        }
        if over {
            return F::end(self).await;
        }
        tokio::select! {
            reached = happened(&engine, &principal, &self.session, end.max(self.position)) => drop(reached?),
            () = self.app.closing.cancelled() => self.ended = true,
        }
        Ok(())
    }
}
