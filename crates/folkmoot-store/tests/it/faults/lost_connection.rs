//! A PostgreSQL whose connections are cut, at any moment and at the worst one.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_core::{Command, Outcome};
use folkmoot_store::{Error, Postgres, Store};
use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use crate::support::*;

/// A database of its own, whose connections can be cut without touching those of other tests.
async fn own_database() -> Option<(String, String)> {
    let url = InPostgres::database()?;
    let database = format!("test_{}_{}", std::process::id(), unique());
    connect(&url).await.batch_execute(&format!("CREATE DATABASE {database}")).await.unwrap();
    Some((format!("{url} dbname={database}"), database))
}

/// Says it until there is an answer, as a client does that has an idempotency key.
async fn insist(store: &Postgres, command: Command, unknown: &AtomicU64) -> Outcome {
    let until = Instant::now() + Duration::from_secs(240);
    loop {
        match store.execute(command.clone()).await {
            Ok(outcome) => return outcome,
            Err(Error::OutcomeUnknown) => drop(unknown.fetch_add(1, Ordering::Relaxed)),
            Err(Error::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("neither an outcome nor a lost connection: {error:?}"),
        }
        assert!(Instant::now() < until, "no answer in four minutes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_nothing_and_double_nothing() {
    let Some((url, database)) = own_database().await else { return };
    let store = Arc::new(Postgres::open(&url, None).await.unwrap());
    let (unknown, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (clients, each) = (16, 40);
    let follower = {
        let store = store.clone();
        tokio::spawn(async move { follow_until(&*store, 0, 2 * clients * each).await })
    };
    let cutter = {
        let (url, done) = (InPostgres::database().unwrap(), done.clone());
        tokio::spawn(async move {
            let admin = connect(&url).await;
            let cut = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                 WHERE datname = '{database}' AND (random() < 0.5 OR state = 'active')"
            );
            let mut cuts = 0;
            while !done.load(Ordering::Relaxed) {
                cuts += admin.query(&cut, &[]).await.unwrap().len();
                tokio::time::sleep(Duration::from_millis(15)).await;
            }
            cuts
        })
    };
    let working = (0..clients).map(|_| {
        let (store, unknown) = (store.clone(), unknown.clone());
        tokio::spawn(async move {
            let mut gates = Vec::new();
            for _ in 0..each {
                let new_gate = new_gate();
                let id = new_gate.id.clone();
                let opened = keyed(open(agent("agent-a"), new_gate), "POST /v1/gates", id.as_str(), "body");
                let decided = keyed(approve(&id, "alice"), "POST /v1/gates/approve", id.as_str(), "body");
                insist(&store, opened, &unknown).await;
                match insist(&store, decided, &unknown).await {
                    Outcome::Gate(gate) => gates.push(*gate),
                    other => panic!("{other:?}"),
                }
            }
            gates
        })
    });
    let gates: Vec<_> = join_all(working).await.into_iter().flat_map(Result::unwrap).collect();
    done.store(true, Ordering::Relaxed);
    let cuts = cutter.await.unwrap();
    println!("{cuts} connections were cut, {} outcomes were unknown at first", unknown.load(Ordering::Relaxed));
    assert!(cuts > 20, "only {cuts} connections were cut: this proves nothing");

    let followed: Vec<u64> = follower.await.unwrap().iter().map(|event| event.position).collect();
    assert_eq!(followed, (1..=2 * clients * each).collect::<Vec<_>>());
    // With connections that last, everything is there once.
    let store = Postgres::open(&url, None).await.unwrap();
    let log = assert_sound(&store).await;
    assert_eq!(log.len() as u64, 2 * clients * each);
    assert!(log.iter().all(|event| event.fact.kind != "gate.refused"));
    let known: BTreeSet<_> = gates.iter().map(|gate| gate.id.clone()).collect();
    assert_eq!(known.len() as u64, clients * each);
    for gate in gates {
        assert_eq!(store.gate(&gate.id).await.unwrap().unwrap().gate, gate);
    }
}

/// What the proxy does to the next COMMIT that passes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    /// It never arrives.
    Before,
    /// It is done, but nobody hears of it.
    After,
}

/// A way to the database that can be cut at the worst moment.
struct Proxy {
    folder: tempfile::TempDir,
    next: Arc<std::sync::Mutex<Option<Cut>>>,
}

impl Proxy {
    fn start(socket: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let next = Arc::new(std::sync::Mutex::new(None));
        let armed = next.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(relay(client, server, armed.clone()));
            }
        });
        Self { folder, next }
    }
}

async fn relay(client: UnixStream, server: UnixStream, armed: Arc<std::sync::Mutex<Option<Cut>>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let (mut asked, mut answered) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    let mut cut = None;
    loop {
        tokio::select! {
            read = from_client.read(&mut asked) => {
                let Ok(n @ 1..) = read else { return };
                if asked[..n].windows(6).any(|word| word == b"COMMIT") {
                    cut = armed.lock().unwrap().take();
                }
                if cut == Some(Cut::Before) || to_server.write_all(&asked[..n]).await.is_err() {
                    return;
                }
            }
            read = from_server.read(&mut answered) => {
                let Ok(n @ 1..) = read else { return };
                match cut {
                    None => if to_client.write_all(&answered[..n]).await.is_err() { return },
                    // All that comes is held back; once the commit is confirmed, both ends are
                    // closed.
                    Some(_) => if answered[..n].windows(7).any(|word| word == b"COMMIT\0") { return },
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_lost_at_the_commit_is_an_unknown_outcome_that_the_key_finds_out() {
    let Some((url, _)) = own_database().await else { return };
    let host = url.split(' ').find_map(|part| part.strip_prefix("host=")).unwrap();
    let proxy = Proxy::start(PathBuf::from(host).join(".s.PGSQL.5432"));
    let through = url.replace(host, proxy.folder.path().to_str().unwrap());
    let store = Postgres::open(&through, None).await.unwrap();
    let mut positions = 0;
    for cut in [Cut::After, Cut::Before, Cut::After] {
        let ids: Vec<_> = (0..5).map(|_| new_gate()).collect();
        let commands: Vec<_> = ids
            .iter()
            .map(|new_gate| {
                keyed(open(agent("agent-a"), new_gate.clone()), "POST /v1/gates", new_gate.id.as_str(), "body")
            })
            .collect();
        an_open_gate(&store).await;
        *proxy.next.lock().unwrap() = Some(cut);
        // Polled in turn and only once before the writer looks, so that they share a batch or two.
        let answers = join_all(commands.iter().map(|command| store.execute(command.clone()))).await;
        let unknown = answers.iter().filter(|answer| matches!(answer, Err(Error::OutcomeUnknown))).count();
        assert!(unknown > 0, "{cut:?}: {answers:?}");
        assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(Error::OutcomeUnknown))), "{answers:?}");
        for command in commands {
            gate_of(store.execute(command).await);
        }
        positions += 6;
        assert_eq!(store.head().await.unwrap().position, positions, "{cut:?}");
    }
    assert_sound(&store).await;
}

/// Somebody else holds the head, for instance a forgotten session with an open transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_stays_locked_is_told_to_all_who_wait_at_once() {
    let Some((url, _)) = own_database().await else { return };
    let store = Arc::new(Postgres::open(&url, None).await.unwrap());
    let gate = an_open_gate(&*store).await;
    let mut holder = connect(&url).await;
    let lock = holder.transaction().await.unwrap();
    lock.batch_execute("SELECT * FROM head FOR UPDATE").await.unwrap();
    let started = Instant::now();
    let waiting = (0..10).map(|_| store.execute(open(agent("agent-a"), new_gate())));
    for answer in join_all(waiting).await {
        assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
    }
    // One or two batches of five seconds each, not ten commands one by one.
    assert!(started.elapsed() < Duration::from_secs(40), "took {:?}", started.elapsed());
    lock.rollback().await.unwrap();
    gate_of(store.execute(approve(&gate.id, "alice")).await);
    assert_eq!(assert_sound(&*store).await.len(), 2);
}
