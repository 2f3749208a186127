//! From a decision to the waiter's answer, one at a time.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Found, Target, cycles::Pair, tally::summarise};

/// Long enough for the waiter to be parked: an earlier decision would be found, not waited for.
const PARKED: Duration = Duration::from_millis(2);

pub(super) async fn run(target: &Target, times: usize) -> Result<Found> {
    let mut pair = Pair::connect(target).await?;
    let mut took = Vec::with_capacity(times);
    for turn in 0..times + times / 10 {
        let gate = pair.open_and_wait().await?;
        tokio::time::sleep(PARKED).await;
        let began = Instant::now();
        pair.approve(&gate).await?;
        let told = pair.both_answered().await?;
        // The first tenth warms up.
        if turn >= times / 10 {
            took.push(told - began);
        }
    }
    let busy = took.iter().sum();
    Ok(summarise(took, busy))
}
