//! Clearance requests.

use std::time::Instant;

use anyhow::{Result, bail};

use super::{Found, Tally, Target, Window, tally::together};
use crate::http::{Connection, find};

pub(super) async fn run(target: Target, clients: usize, window: Window) -> Result<Found> {
    together(clients, window, |number, tally| client(target.clone(), number, tally)).await
}

async fn client(target: Target, number: usize, mut tally: Tally) -> Result<Tally> {
    let mut agent = Connection::open(target.address).await?;
    let path = format!("/v1/clearance?agent_id=agent-{number}&session_id=bench");
    while !tally.is_over() {
        let began = Instant::now();
        let answer = agent.ask("GET", &path, &target.agent_token, b"").await?.expect(200)?;
        if find(answer.body, br#""can_proceed":true"#).is_none() {
            bail!("it was told something else: {}", String::from_utf8_lossy(answer.body));
        }
        tally.finished(began);
    }
    Ok(tally)
}
