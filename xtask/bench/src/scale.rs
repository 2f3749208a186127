//! A server with a million gates, with ten thousand subscribers, and with ten thousand concurrent
//! decisions; each job in a separate process.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use futures_util::future::{join_all, try_join_all};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    figures::Figures,
    http::{Connection, find},
    load::{Opened, Target, open},
    report::median,
    server::resident_bytes,
};

/// What to do with the server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Reads pages of the list of pending gates.
    Pages { target: Target, times: usize },
    /// Opens gates, waits for all of them on one connection, and decides them as fast as it goes.
    Decide { target: Target, gates: usize, clients: usize },
    /// Keeps this many feeds open while gates are opened and decided, and checks that each got
    /// every event.
    Subscribe { target: Target, process: u32, subscribers: usize, gates: usize },
}

/// A day, so that none expires during the measurement.
const DAY_MS: u64 = 86_400_000;
/// For one page, one decision, one connection.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// For a subscriber to have heard everything after the last commit.
const CATCHING_UP: Duration = Duration::from_secs(120);
/// Concurrent connection attempts; the kernel's queue is limited.
const CONNECTING: usize = 100;

pub(crate) async fn measure(job: Job) -> Result<Figures> {
    match job {
        Job::Pages { target, times } => pages(&target, times).await,
        Job::Decide { target, gates, clients } => decide(&target, gates, clients).await,
        Job::Subscribe { target, process, subscribers, gates } => subscribe(&target, process, subscribers, gates).await,
    }
}

async fn pages(target: &Target, times: usize) -> Result<Figures> {
    #[derive(Deserialize)]
    struct Page {
        next: Option<String>,
    }
    let mut reader = Connection::open(target.address).await?;
    let mut figures = Figures::new();
    for (name, query) in [("inbox", "/v1/gates?status=pending&limit=50"), ("newest", "/v1/gates?limit=50")] {
        let (mut took, mut path) = (Vec::new(), query.to_owned());
        for _ in 0..times {
            let began = Instant::now();
            let answer = reader.ask("GET", &path, &target.reviewer_token, b"");
            let answer = timeout(CALL_TIMEOUT, answer).await.context("a page did not come")??.expect(200)?;
            took.push(began.elapsed().as_secs_f64() * 1e3);
            let page: Page = serde_json::from_slice(answer.body)?;
            // Page after page, so that the end of the list counts too.
            path = page.next.map_or_else(|| query.to_owned(), |cursor| format!("{query}&cursor={cursor}"));
        }
        took.sort_by(f64::total_cmp);
        let worst = took.get(took.len() * 99 / 100).copied().unwrap_or(f64::NAN);
        figures.insert(format!("page of 50, {name}, p50 ms"), median(&took).unwrap_or(f64::NAN));
        figures.insert(format!("page of 50, {name}, p99 ms"), worst);
    }
    Ok(figures)
}

async fn open_many(target: &Target, gates: usize, clients: usize) -> Result<Vec<Opened>> {
    let share = |client| gates / clients + usize::from(client < gates % clients);
    let opening = (0..clients).map(|client| async move {
        let mut agent = Connection::open(target.address).await?;
        let mut opened = Vec::new();
        for _ in 0..share(client) {
            opened.push(open(&mut agent, target, DAY_MS).await?);
        }
        anyhow::Ok(opened)
    });
    Ok(try_join_all(opening).await?.into_iter().flatten().collect())
}

async fn decide(target: &Target, gates: usize, clients: usize) -> Result<Figures> {
    let opened = open_many(target, gates, clients).await?;
    let ids: Vec<&str> = opened.iter().map(|gate| gate.id.as_str()).collect();
    let wait = serde_json::json!({ "ids": ids, "all": true, "timeout_ms": 60_000 }).to_string();
    let mut waiter = Connection::open(target.address).await?;
    waiter.send("POST", "/v1/gates/wait", &target.agent_token, wait.as_bytes()).await?;

    // Every client has its connection before the first one decides.
    let reviewers = try_join_all((0..clients).map(|_| Connection::open(target.address))).await?;
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    let deciding = reviewers.into_iter().map(|mut reviewer| {
        let (next, opened) = (&next, &opened);
        async move {
            while let Some(gate) = opened.get(next.fetch_add(1, Ordering::Relaxed)) {
                let path = format!("/v1/gates/{}/approve", gate.id);
                let body = format!(r#"{{"reason":"measured","digest":"{}"}}"#, gate.digest);
                let answer = reviewer.ask("POST", &path, &target.reviewer_token, body.as_bytes());
                timeout(CALL_TIMEOUT, answer).await.context("a decision was not answered")??.expect(200)?;
            }
            anyhow::Ok(())
        }
    });
    let decided = async {
        try_join_all(deciding).await?;
        Ok(began.elapsed())
    };
    let told = async {
        let answer = timeout(CALL_TIMEOUT, waiter.receive()).await.context("the waiter was not told")??.expect(200)?;
        let told = answer.body.windows(APPROVED.len()).filter(|window| window == &APPROVED).count();
        ensure!(told == gates, "the waiter was told of {told} approvals of {gates}");
        anyhow::Ok(began.elapsed())
    };
    let (decided, told) = tokio::try_join!(decided, told)?;
    Ok(Figures::from([
        ("gates decided at once, count".to_owned(), gates as f64),
        ("gates decided at once, per s".to_owned(), gates as f64 / decided.as_secs_f64()),
        ("one waiter told of all of them after, ms".to_owned(), told.as_secs_f64() * 1e3),
    ]))
}

const APPROVED: &[u8] = br#""status":"approved""#;

async fn subscribe(target: &Target, process: u32, subscribers: usize, gates: usize) -> Result<Figures> {
    let before = resident_bytes(process)?;
    let mut feeds = Vec::with_capacity(subscribers);
    while feeds.len() < subscribers {
        let more = CONNECTING.min(subscribers - feeds.len());
        feeds.extend(try_join_all((0..more).map(|_| Feed::open(target))).await?);
    }
    let connected = resident_bytes(process)?;

    // A gate is opened and decided: two events each, one after another on every feed.
    let events = 2 * gates as u64;
    let began = Instant::now();
    let acting = async {
        let mut reviewer = Connection::open(target.address).await?;
        for gate in open_many(target, gates, 1).await? {
            let body = format!(r#"{{"reason":"measured","digest":"{}"}}"#, gate.digest);
            let path = format!("/v1/gates/{}/approve", gate.id);
            reviewer.ask("POST", &path, &target.reviewer_token, body.as_bytes()).await?.expect(200)?;
        }
        anyhow::Ok(began.elapsed())
    };
    let hearing = join_all(feeds.iter_mut().map(|feed| feed.hears(events)));
    let (acted, heard) = tokio::join!(acting, timeout(CATCHING_UP, hearing));
    let (acted, told) = (acted?, began.elapsed());
    for heard in heard.context("some subscribers have not heard everything")? {
        heard?;
    }
    let after = resident_bytes(process)?;
    let each = |with: u64| with.saturating_sub(before) as f64 / 1024.0 / subscribers as f64;
    Ok(Figures::from([
        ("subscribers, count".to_owned(), subscribers as f64),
        ("events that each of them got, count".to_owned(), events as f64),
        ("memory per subscriber, idle, KB".to_owned(), each(connected)),
        ("memory per subscriber, KB".to_owned(), each(after.max(connected))),
        ("events told to subscribers, per s".to_owned(), (subscribers as u64 * events) as f64 / told.as_secs_f64()),
        ("last subscriber after the last commit, ms".to_owned(), told.saturating_sub(acted).as_secs_f64() * 1e3),
    ]))
}

/// One subscriber. Uses HTTP/1.0, so that the response is not chunked.
struct Feed {
    stream: TcpStream,
    incoming: Vec<u8>,
    position: u64,
}

impl Feed {
    async fn open(target: &Target) -> Result<Self> {
        let mut stream =
            timeout(CALL_TIMEOUT, TcpStream::connect(target.address)).await.context("cannot connect")??;
        let token = &target.reviewer_token;
        let request = format!("GET /v1/events HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut feed = Self { stream, incoming: Vec::new(), position: 0 };
        feed.fill().await?;
        ensure!(feed.incoming.starts_with(b"HTTP/1.0 200") || feed.incoming.starts_with(b"HTTP/1.1 200"), "no feed");
        // The position at which it begins is said before any event.
        feed.position = loop {
            if let Some(position) = feed.next_id() {
                break position;
            }
            feed.fill().await?;
        };
        Ok(feed)
    }

    /// Fails if an event is missing, comes twice or out of order.
    async fn hears(&mut self, events: u64) -> Result<()> {
        let end = self.position + events;
        while self.position < end {
            match self.next_id() {
                Some(id) if id == self.position + 1 => self.position = id,
                Some(id) => bail!("event {id} came after {}", self.position),
                None => self.fill().await?,
            }
        }
        Ok(())
    }

    async fn fill(&mut self) -> Result<()> {
        self.incoming.reserve(4096);
        let read =
            timeout(CALL_TIMEOUT, self.stream.read_buf(&mut self.incoming)).await.context("a feed is silent")??;
        ensure!(read > 0, "a feed was closed at {}", self.position);
        Ok(())
    }

    /// The next complete `id:` line; discards what was before it.
    fn next_id(&mut self) -> Option<u64> {
        let start = find(&self.incoming, b"\nid: ")? + 5;
        let length = find(&self.incoming[start..], b"\n")?;
        let id = str::from_utf8(&self.incoming[start..start + length]).ok()?.trim().parse().ok();
        self.incoming.drain(..start + length);
        id
    }
}
