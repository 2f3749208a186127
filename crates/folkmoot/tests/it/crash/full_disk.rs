//! A full disk refuses, loses nothing, invents nothing, and works again as soon as there is room.

use std::{
    collections::HashMap,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use folkmoot_api::{
    Client,
    client::Error,
    core::{GateId, GateStatus, gate::Choice},
    wire::{Gate, NewArtifact, OpenGate, Verdict},
};
use futures_util::future::join_all;

use super::{disk::SmallDisk, eventually, ledger, process::Home, readiness};
use crate::server::{ALICE, ROBOT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_works_again_with_space() {
    let home = Home::new();
    let Some(disk) = SmallDisk::under(&home, 16) else { return };
    let ballast = home.data().join("ballast");
    std::fs::write(&ballast, vec![1; 6 << 20]).unwrap();
    let server = home.start().await;
    let (robot, alice) = (server.client(ROBOT), server.client(ALICE));

    let (mut acknowledged, mut refused, begun) = (HashMap::new(), 0, Instant::now());
    for round in 0.. {
        // Large ones, and a small one that may still fit.
        let opens = (0..8).map(|n| open(&robot, format!("{round}-{n}"), if n == 0 { 100 } else { 90_000 }));
        for answer in join_all(opens).await {
            match answer {
                Ok(gate) => drop(acknowledged.insert(gate.id.clone(), gate)),
                Err(error) => {
                    assert!(matches!(&error, Error::Problem(problem) if problem.status == 503), "{error:?}");
                    assert_eq!(error.code(), Some("disk_full"), "{error:?}");
                    refused += 1;
                }
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "{} gates, and the disk is not full", acknowledged.len());
        // A full disk stays full, and says so again.
        if refused > 60 {
            break;
        }
    }
    assert!(acknowledged.len() > 20, "only {} gates before the disk was full", acknowledged.len());

    // Reading goes on meanwhile, and the server says that it lives.
    check(&alice, &acknowledged).await;
    // It is what the last write met, and a small one of the server's own may have fitted since.
    let mut ready = String::new();
    for n in 0..20 {
        if let Ok(gate) = open(&robot, format!("full {n}"), 90_000).await {
            acknowledged.insert(gate.id.clone(), gate);
        }
        ready = readiness(server.client.url());
        if ready == "200 degraded" {
            break;
        }
    }
    assert_eq!(ready, "200 degraded");
    let last = acknowledged.keys().next().cloned().expect("there is one");
    let approved = decide(&alice, &last).await;
    match approved {
        Ok(gate) => drop(acknowledged.insert(last.clone(), gate)),
        Err(error) => assert_eq!(error.code(), Some("disk_full"), "{error:?}"),
    }
    check(&alice, &acknowledged).await;

    std::fs::remove_file(&ballast).unwrap();
    for n in 0..10 {
        let gate = open(&robot, format!("after {n}"), 90_000).await.expect("there is room again");
        let gate = decide(&alice, &gate.id).await.expect("there is room again");
        acknowledged.insert(gate.id.clone(), gate);
    }
    check(&alice, &acknowledged).await;
    assert_eq!(readiness(server.client.url()), "200 ready");
    server.kill();

    let server = home.start().await;
    check(&server.client(ALICE), &acknowledged).await;
    server.kill();
    let database = rusqlite::Connection::open(home.data().join("folkmoot.db")).unwrap();
    let whole: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
    drop(database);
    println!("{} gates were acknowledged, {refused} refused for want of space", acknowledged.len());
    drop(disk);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_killed_on_a_full_disk_starts_says_so_and_can_be_read() {
    let home = Home::new();
    let Some(disk) = SmallDisk::under(&home, 16) else { return };
    let server = home.start().await;
    let mut acknowledged = HashMap::new();
    for n in 0..20 {
        let gate = open(&server.client(ROBOT), format!("before {n}"), 100).await.expect("there is room");
        acknowledged.insert(gate.id.clone(), gate);
    }
    fill(&home.data().join("ballast"));
    assert_eq!(
        open(&server.client(ROBOT), "full".to_owned(), 90_000).await.expect_err("full").code(),
        Some("disk_full")
    );
    server.kill();
    fill(&home.data().join("more"));

    let server = home.start().await;
    let (robot, alice) = (server.client(ROBOT), server.client(ALICE));
    assert_eq!(readiness(server.client.url()), "200 degraded");
    assert!(server.said().contains("the disk is full"), "{}", server.said());
    check(&alice, &acknowledged).await;
    alice.audit(0, 100).await.expect("the log can be read");
    let refused = open(&robot, "full".to_owned(), 90_000).await.expect_err("the disk is full");
    assert_eq!(refused.code(), Some("disk_full"), "{refused:?}");

    std::fs::remove_file(home.data().join("ballast")).unwrap();
    let gate = eventually(async || open(&robot, "after".to_owned(), 90_000).await.ok()).await;
    acknowledged.insert(gate.id.clone(), decide(&alice, &gate.id).await.expect("there is room again"));
    check(&alice, &acknowledged).await;
    eventually(async || (readiness(server.client.url()) == "200 ready").then_some(())).await;
    server.kill();
    drop(disk);
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("it is made");
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

async fn open(client: &Client, title: String, bytes: usize) -> Result<Gate, Error> {
    let content = format!("{title} ").repeat(1 + bytes / (title.len() + 1));
    let artifact = NewArtifact { name: "a".to_owned(), media_type: "text/plain".to_owned(), content };
    let gate = OpenGate { summary: title, artifacts: vec![artifact], ..OpenGate::default() };
    client.open_gate(&gate, None).await
}

async fn decide(client: &Client, id: &GateId) -> Result<Gate, Error> {
    let decided = client.decide(id, Choice::Approve, &Verdict::default(), None).await?;
    assert_eq!(decided.status, GateStatus::Approved);
    Ok(decided)
}

/// Exactly what was acknowledged is there, and the log agrees with it.
async fn check(client: &Client, acknowledged: &HashMap<GateId, Gate>) {
    let found = ledger::every_gate(client).await;
    for gate in acknowledged.values() {
        let found = found.get(&gate.id).unwrap_or_else(|| panic!("{} was acknowledged and is lost", gate.id));
        ledger::kept(gate, found).unwrap_or_else(|lost| panic!("{lost}"));
    }
    assert_eq!(found.len(), acknowledged.len(), "something is there that was refused");
    let verified = client.verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
}
