//! Gate cycles: an agent opens a gate and waits, a reviewer approves it, the agent is told.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Found, Tally, Target, Window, tally::together};
use crate::http::{Connection, find};

pub(super) async fn run(target: Target, clients: usize, window: Window) -> Result<Found> {
    together(clients, window, |_, tally| client(target.clone(), tally)).await
}

async fn client(target: Target, mut tally: Tally) -> Result<Tally> {
    let mut pair = Pair::connect(&target).await?;
    while !tally.is_over() {
        let began = Instant::now();
        let gate = pair.open_and_wait().await?;
        pair.approve(&gate).await?;
        pair.both_answered().await?;
        tally.finished(began);
    }
    Ok(tally)
}

/// An agent and a reviewer, each with a connection.
pub(super) struct Pair<'a> {
    target: &'a Target,
    agent: Connection,
    reviewer: Connection,
}

/// What the server says of a gate that it has just opened.
#[derive(Debug, Deserialize)]
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) digest: String,
}

/// Longer than the server's own limit, so that we see its answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(40);

impl<'a> Pair<'a> {
    pub(super) async fn connect(target: &'a Target) -> Result<Self> {
        Ok(Self {
            target,
            agent: Connection::open(target.address).await?,
            reviewer: Connection::open(target.address).await?,
        })
    }

    /// Returns once the waiting request is sent.
    pub(super) async fn open_and_wait(&mut self) -> Result<Opened> {
        let opened = open(&mut self.agent, self.target, 600_000).await?;
        let path = format!("/v1/gates/{}/wait?timeout_ms=30000", opened.id);
        self.agent.send("GET", &path, &self.target.agent_token, b"").await?;
        Ok(opened)
    }

    /// Returns once the decision is sent.
    pub(super) async fn approve(&mut self, gate: &Opened) -> Result<()> {
        let path = format!("/v1/gates/{}/approve", gate.id);
        let body = format!(r#"{{"reason":"measured","digest":"{}"}}"#, gate.digest);
        self.reviewer.send("POST", &path, &self.target.reviewer_token, body.as_bytes()).await
    }

    /// Returns when the waiter has been told, with the moment, and the reviewer too.
    pub(super) async fn both_answered(&mut self) -> Result<Instant> {
        let told = async {
            let answer = self.agent.receive().await?.expect(200).context("wait")?;
            let at = Instant::now();
            if find(answer.body, br#""status":"approved""#).is_none() {
                bail!("the waiter was told something else: {}", String::from_utf8_lossy(answer.body));
            }
            Ok(at)
        };
        let decided = async {
            self.reviewer.receive().await?.expect(200).context("approve")?;
            Ok(())
        };
        let both = async { tokio::try_join!(told, decided) };
        let (at, ()) = timeout(ANSWER_TIMEOUT, both).await.context("a cycle was not answered in time")??;
        Ok(at)
    }
}

pub(crate) async fn open(agent: &mut Connection, target: &Target, timeout_ms: u64) -> Result<Opened> {
    let body = format!(
        r#"{{"title":"Deploy 1.4.2","summary":"Deploy 1.4.2 to production","kind":"custom","timeout_ms":{timeout_ms}}}"#
    );
    let answer =
        agent.ask("POST", "/v1/gates", &target.agent_token, body.as_bytes()).await?.expect(201).context("open")?;
    serde_json::from_slice(answer.body).context("an opened gate without id or digest")
}
