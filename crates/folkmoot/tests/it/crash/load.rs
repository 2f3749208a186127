//! Agents that open gates, people who decide them, and waiters, all of whom insist until they have
//! an answer.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_api::{
    Client,
    client::Error,
    core::{GateId, gate::Choice},
    wire::{Gate, NewArtifact, OpenGate, Problem, Verdict},
};
use futures_util::StreamExt;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{ledger::Ledger, random::Random, subscriber::Subscriber};
use crate::server::{ALICE, ROBOT};

pub(super) const BOB: &str = "bob-token-0123456789";

/// No answer takes this long, whatever happens to the server: a call that does has hung.
const HUNG_AFTER: Duration = Duration::from_secs(90);
/// Before the next try.
const PAUSE: Duration = Duration::from_millis(3);

/// What everybody shares. Clones are the same load.
#[derive(Clone)]
pub(super) struct Load {
    servers: watch::Sender<Vec<Client>>,
    pub(super) ledger: Arc<Mutex<Ledger>>,
    enough: Arc<AtomicBool>,
    artifact_bytes: usize,
    /// Between one gate and the next of each writer.
    pub(super) pause: Duration,
}

/// What is asked of a server.
enum Call {
    Open(Box<OpenGate>),
    /// With exactly this key.
    Again(Box<Call>, String),
    Decide(&'static str, Box<Gate>, Choice),
    Look(GateId),
}

impl Call {
    async fn make(&self, client: &Client, key: &str) -> Result<Gate, Error> {
        match self {
            Call::Open(open) => client.with_token(ROBOT).open_gate(open, Some(key)).await,
            Call::Again(call, key) => Box::pin(call.make(client, key)).await,
            Call::Decide(token, gate, choice) => {
                let (reason, digest) = (Some(key.to_owned()), Some(gate.digest));
                let verdict = Verdict { reason, digest, ..Verdict::default() };
                client.with_token(token).decide(&gate.id, *choice, &verdict, Some(key)).await
            }
            Call::Look(id) => client.with_token(ALICE).gate(id).await,
        }
    }
}

/// Everybody at work.
pub(super) struct Crowd {
    load: Load,
    writers: JoinSet<()>,
    waiters: Arc<tokio::sync::Mutex<JoinSet<Gate>>>,
    subscriber: Subscriber,
}

impl Load {
    pub(super) fn new(artifact_bytes: usize) -> Self {
        let (servers, pause) = (watch::Sender::new(Vec::new()), Duration::ZERO);
        Self { servers, ledger: Arc::default(), enough: Arc::default(), artifact_bytes, pause }
    }

    /// Tells everybody which servers there are now.
    pub(super) fn serve<'a>(&self, servers: impl IntoIterator<Item = &'a Client>) {
        self.servers.send_replace(servers.into_iter().cloned().collect());
    }

    pub(super) fn ledger(&self) -> std::sync::MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nobody panics with it")
    }

    /// So many writers, a waiter for some of their gates, and one subscriber.
    pub(super) fn start(&self, writers: u64, random: &mut Random) -> Crowd {
        let waiters = Arc::new(tokio::sync::Mutex::new(JoinSet::new()));
        let mut tasks = JoinSet::new();
        for n in 0..writers {
            tasks.spawn(write(self.clone(), n, random.fork(), waiters.clone()));
        }
        Crowd { load: self.clone(), writers: tasks, waiters, subscriber: Subscriber::start(self.clone()) }
    }

    /// One of the servers; waits until there is one.
    pub(super) async fn server(&self, which: usize) -> Client {
        let mut servers = self.servers.subscribe();
        let some =
            timeout(3 * HUNG_AFTER, servers.wait_for(|servers| !servers.is_empty())).await.expect("there is a server");
        let servers = some.expect("the load lives");
        servers[which % servers.len()].clone()
    }

    /// Says it until there is an answer. The key stays the same as long as it may have been done;
    /// once the server has said that nothing was written, another one is used, which would do it
    /// twice if that was a lie.
    async fn insist(&self, key: &str, call: &Call) -> Result<(Gate, String), Box<Problem>> {
        let begun = Instant::now();
        let (mut tries, mut certain) = (0, 0);
        // Once a try's fate is unknown, a later one that wrote nothing says nothing about it: the
        // key must stay.
        let mut in_doubt = false;
        loop {
            let attempt = format!("{key}/{certain}");
            let client = self.server(tries).await;
            let asked = Instant::now();
            let answer = timeout(HUNG_AFTER, call.make(&client, &attempt)).await;
            let error = match answer.unwrap_or_else(|_| panic!("{attempt} hangs")) {
                Ok(answer) => return Ok((answer, attempt)),
                Err(error) => error,
            };
            match &error {
                Error::Problem(problem) if problem.status == 503 => match problem.code.as_str() {
                    "outcome_unknown" | "stopped" => in_doubt = true,
                    "database_unavailable" | "disk_full" | "busy" => certain += u32::from(!in_doubt),
                    _ => panic!("{attempt}: {problem:?}"),
                },
                Error::Problem(problem) => return Err(problem.clone()),
                Error::Unreachable { .. } => in_doubt = true,
                Error::Foreign { .. } => panic!("{attempt}: {error}"),
            }
            self.ledger().failed(&error, asked.elapsed());
            assert!(begun.elapsed() < Duration::from_secs(300), "{attempt} was not answered in five minutes: {error}");
            tries += 1;
            sleep(PAUSE).await;
        }
    }

    /// That this was acknowledged is still true.
    pub(super) async fn still_holds(&self, gates: Vec<Gate>) {
        for gate in gates {
            let found = self.insist("look", &Call::Look(gate.id.clone())).await;
            let (found, _) = found.unwrap_or_else(|problem| panic!("{} was acknowledged: {problem:?}", gate.id));
            super::ledger::kept(&gate, &found).unwrap_or_else(|lost| panic!("{lost}"));
        }
    }

    async fn say(&self, token: &'static str, gate: &Gate, choice: Choice) -> Result<Gate, Box<Problem>> {
        let key = format!("{choice} {} {token}", gate.title);
        let (answer, key) = self.insist(&key, &Call::Decide(token, Box::new(gate.clone()), choice)).await?;
        let reviewer = if token == ALICE { "alice" } else { "bob" };
        let said = answer.decision.as_ref().map(|decision| (decision.reviewer.as_str(), decision.reason.as_str()));
        let voted = answer
            .votes
            .iter()
            .map(|vote| (vote.reviewer.as_str(), vote.reason.as_str()))
            .any(|vote| vote == (reviewer, &key));
        assert!(said == Some((reviewer, &key)) || voted, "{key} was answered with {answer:?}");
        self.ledger().decided(&answer);
        Ok(answer)
    }
}

/// Opens and decides one gate after the other.
async fn write(load: Load, writer: u64, mut random: Random, waiters: Arc<tokio::sync::Mutex<JoinSet<Gate>>>) {
    for n in 0.. {
        if load.enough.load(Ordering::Relaxed) {
            return;
        }
        sleep(load.pause).await;
        let plan = random.below(100);
        let title = format!("gate {writer}-{n}");
        let open = OpenGate {
            summary: title.clone(),
            quorum: (plan < 20).then_some(2),
            artifacts: vec![NewArtifact {
                name: "change.diff".to_owned(),
                media_type: "text/x-diff".to_owned(),
                content: format!("{title}\n").repeat(1 + load.artifact_bytes / 16),
            }],
            ..OpenGate::default()
        };
        let open = Call::Open(Box::new(open));
        let (gate, key) = load.insist(&title, &open).await.unwrap_or_else(|problem| panic!("{title}: {problem:?}"));
        assert_eq!(gate.title, title);
        load.ledger().opened(&gate);
        if random.below(4) == 0 {
            waiters.lock().await.spawn(wait(load.clone(), gate.id.clone(), random.below(2) == 0));
        }
        match plan {
            // Both are needed.
            0..20 => {
                load.say(ALICE, &gate, Choice::Approve).await.unwrap_or_else(|problem| panic!("{title}: {problem:?}"));
                let decided = load.say(BOB, &gate, Choice::Approve).await;
                let decision = decided.unwrap_or_else(|problem| panic!("{title}: {problem:?}")).decision;
                assert_eq!(decision.map(|decision| decision.votes.len()), Some(2), "{title}");
            }
            // Only one can win, and the other is told who.
            20..40 => {
                let (approved, rejected) =
                    tokio::join!(load.say(ALICE, &gate, Choice::Approve), load.say(BOB, &gate, Choice::Reject));
                let (won, lost) = match (approved, rejected) {
                    (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
                    both => panic!("{title} was not decided once: {both:?}"),
                };
                assert_eq!((lost.status, lost.decision), (409, won.decision), "{title}");
            }
            40..60 => drop(load.say(BOB, &gate, Choice::Reject).await.unwrap_or_else(|p| panic!("{title}: {p:?}"))),
            _ => drop(load.say(ALICE, &gate, Choice::Approve).await.unwrap_or_else(|p| panic!("{title}: {p:?}"))),
        }
        if random.below(5) == 0 {
            // The same key, perhaps after a restart: the same answer.
            let again = load.insist(&title, &Call::Again(Box::new(open), key)).await;
            assert_eq!(again.map(|(again, _)| again), Ok(gate), "{title}: repeated");
            load.ledger().repetitions += 1;
        }
    }
}

/// Comes back with its gate's id until it learns the decision.
async fn wait(load: Load, id: GateId, streams: bool) -> Gate {
    for tries in 0.. {
        let client = load.server(tries).await.with_token(ROBOT);
        let waited = async {
            if !streams {
                return client.wait_gate(&id, Duration::from_secs(5)).await.ok();
            }
            let mut stream = std::pin::pin!(client.stream_gates(vec![id.clone()]).await.ok()?);
            stream.next().await?.ok()
        };
        if let Some(gate) = timeout(HUNG_AFTER, waited).await.expect("a wait hangs")
            && gate.decision.is_some()
        {
            return gate;
        }
        sleep(PAUSE).await;
    }
    unreachable!("it waits for ever")
}

impl Crowd {
    /// Lets everybody finish on servers that stay up; then everything acknowledged must be there,
    /// once.
    pub(super) async fn finish(mut self) {
        self.load.enough.store(true, Ordering::Relaxed);
        let writing =
            async { while self.writers.join_next().await.transpose().expect("no writer panics").is_some() {} };
        timeout(Duration::from_secs(400), writing).await.expect("a writer hangs");
        let mut waiters = self.waiters.lock().await;
        let waiting = async {
            while let Some(gate) = waiters.join_next().await {
                self.load.ledger().waited.push(gate.expect("no waiter panics"));
            }
        };
        timeout(Duration::from_secs(200), waiting).await.expect("a waiter hangs: everything is decided");
        let client = self.load.server(0).await.with_token(ALICE);
        let verified = client.verify().await.expect("it can be verified");
        assert!(verified.ok, "{:?}", verified.problems);
        self.subscriber.finish(verified.events).await;
        let ledger = std::mem::take(&mut *self.load.ledger());
        ledger.check(&client).await;
        *self.load.ledger() = ledger;
    }
}
