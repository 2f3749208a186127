//! The whole truth about a store: its log, and every row against it.

use std::{sync::Arc, time::Duration};

use folkmoot_core::{
    Event,
    audit::{AuditProblem, LogWalk, check_row},
};
use folkmoot_store::Store;

pub(crate) async fn all_events(store: &impl Store) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.position);
        let more = store.events(after, 997).await.unwrap();
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}

/// All that an audit finds: in the log, at its end, and in every row.
pub(crate) async fn problems(store: &impl Store) -> Vec<AuditProblem> {
    let mut walk = LogWalk::new();
    let events = all_events(store).await;
    let mut problems: Vec<AuditProblem> = events.iter().flat_map(|event| walk.step(event)).collect();
    problems.extend(walk.end(store.head().await.unwrap()));
    let mut after = String::new();
    loop {
        let page = store.histories(&after, 100).await.unwrap();
        let Some(last) = page.last() else { return problems };
        after = last.stream.clone();
        for history in &page {
            problems.extend(match &history.row {
                Some(Err(unreadable)) => Some(AuditProblem::new(&history.stream, unreadable)),
                Some(Ok(row)) => check_row(&history.stream, Some(row), &history.events),
                None => check_row(&history.stream, None, &history.events),
            });
        }
    }
}

/// Positions dense from 1, the chain whole, its end at the head, each row the fold of its events.
/// Returns the log.
#[track_caller]
pub(crate) fn assert_sound(store: &impl Store) -> impl Future<Output = Vec<Event>> {
    let caller = std::panic::Location::caller();
    async move {
        assert_eq!(problems(store).await, [], "checked at {caller}");
        let events = all_events(store).await;
        let positions: Vec<u64> = events.iter().map(|event| event.position).collect();
        assert_eq!(positions, (1..=events.len() as u64).collect::<Vec<_>>());
        events
    }
}

/// Follows the log from after `after` until it has seen position `last`.
pub(crate) async fn follow_until(store: &impl Store, after: u64, last: u64) -> Vec<Arc<Event>> {
    let mut events: Vec<Arc<Event>> = Vec::new();
    let following = async {
        while events.last().map_or(after, |event| event.position) < last {
            let seen = events.last().map_or(after, |event| event.position);
            events.extend(store.follow(seen).await.unwrap());
        }
    };
    // The log may be written slowly, on a busy machine and while connections are cut.
    let patience = Duration::from_secs(600);
    let reached = tokio::time::timeout(patience, following).await;
    assert!(reached.is_ok(), "followed {} events after {after} and never reached {last}", events.len());
    events
}
