//! Fills the database with large content, so that all caches reach their full size.

use std::time::Instant;

use anyhow::{Context, Result};

use super::{Found, Target, tally::summarise};
use crate::http::Connection;

/// A little less than the longest summary.
const SUMMARY_BYTES: usize = 250_000;

pub(super) async fn run(target: Target, megabytes: usize) -> Result<Found> {
    let mut agent = Connection::open(target.address).await?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    for n in 0..megabytes * 1_000_000 / SUMMARY_BYTES {
        let began = Instant::now();
        // Unique, because equal content is stored once.
        let summary = format!("{n:09} ").repeat(SUMMARY_BYTES / 10);
        let body = format!(r#"{{"title":"Fill","summary":"{summary}","timeout_ms":"never"}}"#);
        let asked = agent.ask("POST", "/v1/gates", &target.agent_token, body.as_bytes()).await?;
        asked.expect(201).context("open")?;
        took.push(began.elapsed());
    }
    Ok(summarise(took, begun.elapsed()))
}
