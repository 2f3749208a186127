//! A full disk refuses, loses nothing, invents nothing, and works again as soon as there is room.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use folkmoot_api::{
    Client,
    client::Error,
    core::{GateId, Status, gate::Choice},
    wire::{Gate, NewArtifact, OpenGate, Verdict},
};
use futures_util::future::join_all;

use super::{disk::SmallDisk, ledger, process::Home, readiness};
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

async fn open(client: &Client, title: String, bytes: usize) -> Result<Gate, Error> {
    let content = format!("{title} ").repeat(1 + bytes / (title.len() + 1));
    let artifact = NewArtifact { name: "a".to_owned(), media_type: "text/plain".to_owned(), content };
    let gate = OpenGate { summary: title, artifacts: vec![artifact], ..OpenGate::default() };
    client.open_gate(&gate, None).await
}

async fn decide(client: &Client, id: &GateId) -> Result<Gate, Error> {
    let decided = client.decide(id, Choice::Approve, &Verdict::default(), None).await?;
    assert_eq!(decided.status, Status::Approved);
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
