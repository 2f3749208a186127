//! Gate cycles at a fixed rate.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{Found, Tally, Target, Window, cycles::Pair, tally::together};

pub(super) async fn run(target: Target, clients: usize, per_second: f64, window: Window) -> Result<Found> {
    let every = Duration::from_secs_f64(clients as f64 / per_second);
    let begin = Instant::now();
    together(clients, window, |number, tally| {
        // Staggered starts.
        let first = begin + every.mul_f64(number as f64 / clients as f64);
        client(target.clone(), first, every, tally)
    })
    .await
}

async fn client(target: Target, first: Instant, every: Duration, mut tally: Tally) -> Result<Tally> {
    let mut pair = Pair::connect(&target).await?;
    let mut next = first;
    while !tally.is_over() {
        tokio::time::sleep_until(next.into()).await;
        let began = Instant::now();
        let gate = pair.open_and_wait().await?;
        pair.approve(&gate).await?;
        pair.both_answered().await?;
        tally.finished(began);
        // A client that fell behind does not catch up in a burst.
        next = (next + every).max(Instant::now());
    }
    Ok(tally)
}
