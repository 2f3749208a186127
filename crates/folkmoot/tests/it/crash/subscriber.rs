//! One who follows the feed, and comes back with the last position whenever it breaks.

use std::{collections::HashSet, time::Duration};

use futures_util::StreamExt;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::load::Load;
use crate::server::ALICE;

pub(super) struct Subscriber {
    until: watch::Sender<Option<u64>>,
    task: JoinHandle<()>,
}

impl Subscriber {
    pub(super) fn start(load: Load) -> Self {
        let until = watch::Sender::new(None);
        let task = tokio::spawn(follow(load, until.subscribe()));
        Self { until, task }
    }

    /// It has seen every event up to here, each once.
    pub(super) async fn finish(self, head: u64) {
        self.until.send_replace(Some(head));
        timeout(Duration::from_secs(120), self.task).await.expect("the feed stops before its end").expect("no panic");
    }
}

async fn follow(load: Load, mut until: watch::Receiver<Option<u64>>) {
    let (mut position, mut decided) = (0, HashSet::new());
    for tries in 0.. {
        let client = load.server(tries).await.with_token(ALICE);
        let feed = timeout(Duration::from_secs(120), client.events(Some(position))).await.expect("the feed hangs");
        if let Ok(mut feed) = feed {
            loop {
                if until.borrow_and_update().is_some_and(|head| position >= head) {
                    return;
                }
                let event = tokio::select! {
                    event = feed.next() => event,
                    _ = until.changed() => continue,
                };
                let Some(Ok(event)) = event else { break };
                assert_eq!(event.position, position + 1, "the feed skips or repeats");
                position = event.position;
                if event.kind == "gate.decided" {
                    assert!(decided.insert(event.stream.clone()), "{} was decided twice", event.stream);
                }
            }
        }
        sleep(Duration::from_millis(5)).await;
    }
}
