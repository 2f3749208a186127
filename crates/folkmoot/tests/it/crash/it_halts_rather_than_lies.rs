//! Promise 14: the first failed sync stops the writer; nothing is acknowledged after it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use folkmoot_api::{
    Client,
    client::Error,
    core::gate::Choice,
    wire::{Gate, NewArtifact, OpenGate, Verdict},
};
use tokio::{task::JoinSet, time::timeout};

use super::{ledger, process::Home, strace};
use crate::server::{ALICE, ROBOT};

/// What the clients were told, and when.
#[derive(Default)]
struct Told {
    /// When the question was sent, and what was acknowledged.
    acknowledged: Vec<(Instant, Gate)>,
    /// When somebody was first told that the store has stopped.
    stopped: Option<Instant>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_halts_rather_than_lies() {
    let log = |home: &Home| home.data().join("folkmoot.db-wal");
    let database = |home: &Home| home.data().join("folkmoot.db");
    // Among the first commits, later, and not in a commit at all but in the checkpoint beside it.
    sync_fails("the log, early", "3+", 100, log).await;
    sync_fails("the log, later", "60+", 100, log).await;
    sync_fails("the log, once", "25", 100, log).await;
    sync_fails("a checkpoint", "1+", 60_000, database).await;
}

async fn sync_fails(what: &str, when: &str, artifact_bytes: usize, file: impl Fn(&Home) -> PathBuf) {
    let home = Home::new();
    // The first start makes tables and tokens, which is not what is to fail.
    home.start().await.kill();
    let Some(strace) = strace::failing("fsync,fdatasync", "EIO", when, &file(&home)) else { return };
    let mut server = home.start_under(&strace).await;
    let told = Arc::new(Mutex::new(Told::default()));
    let mut clients = JoinSet::new();
    for n in 0..4 {
        clients.spawn(work(server.client.clone(), format!("{n}"), artifact_bytes, told.clone()));
    }
    let status = server.ended(Duration::from_secs(30)).await;
    timeout(Duration::from_secs(120), clients.join_all()).await.expect("no client hangs");
    let said = server.said();
    assert_eq!(status.code(), Some(70), "{what}: {status}: {said}");
    assert!(said.contains("the store has stopped") && said.contains("a sync failed"), "{what}: {said}");

    let told = Arc::into_inner(told).expect("all clients have ended").into_inner().expect("none has panicked");
    assert!(!told.acknowledged.is_empty(), "{what}: nothing was acknowledged before the sync failed");
    let late =
        told.acknowledged.iter().filter(|(asked, _)| told.stopped.is_some_and(|stopped| *asked > stopped)).count();
    assert_eq!(late, 0, "{what}: acknowledged after it had stopped");
    let server = home.start().await;
    let found = ledger::every_gate(&server.client(ALICE)).await;
    for (_, gate) in &told.acknowledged {
        let found = found.get(&gate.id).unwrap_or_else(|| panic!("{what}: {} was acknowledged and is lost", gate.id));
        ledger::kept(gate, found).unwrap_or_else(|lost| panic!("{what}: {lost}"));
    }
    let verified = server.client(ALICE).verify().await.expect("it can be verified");
    assert!(verified.ok, "{what}: {:?}", verified.problems);
    println!("{what}: {} acknowledged before a sync failed, and all are there", told.acknowledged.len());
}

/// Opens and approves until the server is gone.
async fn work(client: Client, name: String, artifact_bytes: usize, told: Arc<Mutex<Told>>) {
    let (robot, alice) = (client.with_token(ROBOT), client.with_token(ALICE));
    for n in 0..100_000 {
        let content = format!("{name}-{n} ").repeat(1 + artifact_bytes / 8);
        let artifact = NewArtifact { name: "a".to_owned(), media_type: "text/plain".to_owned(), content };
        let open = OpenGate { summary: format!("{name}-{n}"), artifacts: vec![artifact], ..OpenGate::default() };
        let asked = Instant::now();
        let Some(gate) = answered(robot.open_gate(&open, None).await, asked, &told) else {
            if client.ready().await.is_err_and(|error| matches!(error, Error::Unreachable { .. })) {
                return;
            }
            continue;
        };
        let asked = Instant::now();
        answered(alice.decide(&gate.id, Choice::Approve, &Verdict::default(), None).await, asked, &told);
    }
}

fn answered(answer: Result<Gate, Error>, asked: Instant, told: &Mutex<Told>) -> Option<Gate> {
    let mut told = told.lock().expect("nobody panics with it");
    match answer {
        Ok(gate) => {
            told.acknowledged.push((asked, gate.clone()));
            Some(gate)
        }
        Err(Error::Unreachable { .. }) => None,
        Err(error) => {
            assert_eq!(error.code(), Some("stopped"), "{error:?}");
            told.stopped.get_or_insert_with(Instant::now);
            None
        }
    }
}
