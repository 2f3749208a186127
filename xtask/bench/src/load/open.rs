//! Opens gates that nobody waits for.

use std::time::Instant;

use anyhow::{Context, Result};
use tokio::task::JoinSet;

use super::{Found, Target, cycles::open, tally::summarise};
use crate::http::Connection;

/// A day, so that none expires during the measurement.
const TIMEOUT_MS: u64 = 86_400_000;

pub(super) async fn run(target: Target, clients: usize, times: usize) -> Result<Found> {
    let began = Instant::now();
    let mut running = JoinSet::new();
    for client in 0..clients {
        let share = times / clients + usize::from(client < times % clients);
        running.spawn(open_some(target.clone(), share));
    }
    let mut took = Vec::with_capacity(times);
    while let Some(ended) = running.join_next().await {
        took.extend(ended.context("a client panicked")??);
    }
    Ok(summarise(took, began.elapsed()))
}

async fn open_some(target: Target, times: usize) -> Result<Vec<std::time::Duration>> {
    let mut agent = Connection::open(target.address).await?;
    let mut took = Vec::with_capacity(times);
    for _ in 0..times {
        let began = Instant::now();
        open(&mut agent, &target, TIMEOUT_MS).await?;
        took.push(began.elapsed());
    }
    Ok(took)
}
