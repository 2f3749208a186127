//! Question cycles: an agent asks and waits for clearance, a reviewer answers, the agent is
//! cleared.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Found, Tally, Target, Window, tally::together};
use crate::http::{Connection, find};

/// Longer than the server's own limit, so that we see its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

pub(super) async fn run(target: Target, clients: usize, window: Window) -> Result<Found> {
    together(clients, window, |number, tally| client(target.clone(), number, tally)).await
}

#[derive(Deserialize)]
struct Asked {
    id: String,
}

async fn client(target: Target, number: usize, mut tally: Tally) -> Result<Tally> {
    let mut agent = Connection::open(target.address).await?;
    let mut reviewer = Connection::open(target.address).await?;
    let question = format!(r#"{{"agent_id":"agent-{number}","session_id":"bench","type":"BLOCKING","text":"Which?"}}"#);
    let wait = format!("/v1/clearance/wait?agent_id=agent-{number}&session_id=bench&timeout_ms=30000");
    while !tally.is_over() {
        let began = Instant::now();
        let asked = agent.ask("POST", "/v1/questions", &target.agent_token, question.as_bytes()).await?;
        let Asked { id } = serde_json::from_slice(asked.expect(201).context("ask")?.body)?;
        agent.send("GET", &wait, &target.agent_token, b"").await?;
        let answer = format!("/v1/questions/{id}/answer");
        reviewer.send("POST", &answer, &target.reviewer_token, br#"{"answer":"this"}"#).await?;
        let cleared = async {
            let answer = agent.receive().await?.expect(200).context("wait")?;
            if find(answer.body, br#""cleared":true"#).is_none() || find(answer.body, br#""this""#).is_none() {
                bail!("the waiter was told something else: {}", String::from_utf8_lossy(answer.body));
            }
            Ok(())
        };
        let answered = async {
            reviewer.receive().await?.expect(200).context("answer")?;
            Ok(())
        };
        let both = async { tokio::try_join!(cleared, answered) };
        timeout(ANSWER_TIMEOUT, both).await.context("a cycle was not answered in time")??;
        tally.finished(began);
    }
    Ok(tally)
}
