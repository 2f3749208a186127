//! A gate whose deadline passes while nobody is there was never approvable.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_api::{
    Client,
    client::Error,
    core::{GateId, GateStatus, Timeout, gate::Choice},
    wire::{OpenGate, Verdict},
};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use super::{ledger, number, process::Home};
use crate::server::{ALICE, ROBOT, signal};

const SPAN: Duration = Duration::from_millis(700);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_that_became_overdue_while_the_server_was_down_is_timed_out() {
    let mut home = Home::new();
    // A port that is known before the server has it. Nobody else is given it so soon after.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    home.listen = free.expect("a free port");
    let server = home.start().await;
    let ids = open(&server.client(ROBOT), 100).await;
    let opened = Instant::now();
    server.kill();
    tokio::time::sleep((opened + SPAN + Duration::from_millis(50)).saturating_duration_since(Instant::now())).await;

    // They knock before the door is there.
    let refused = Arc::new(AtomicU64::new(0));
    let mut hammering = JoinSet::new();
    for n in 0..4 {
        hammering.spawn(hammer(home.listen, ids.iter().skip(n).step_by(4).cloned().collect(), refused.clone()));
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let server = home.start().await;
    timed_out(&server.client(ALICE), &ids).await;
    tokio::time::timeout(Duration::from_secs(120), hammering.join_all()).await.expect("the hammering ends");
    let refused = refused.load(Ordering::Relaxed);
    println!("{} overdue gates, {refused} attempts to approve them, none succeeded", ids.len());
    assert!(refused >= ids.len() as u64, "only {refused} attempts: this proves nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stood_still_times_out_once() {
    let home = Home::new();
    let server = home.start().await;
    let ids = open(&server.client(ROBOT), 50).await;
    signal(server.pid(), "STOP");
    // Asked while it stands still, and answered when the time is over.
    let alice = server.client(ALICE);
    let asking = ids.iter().map(|id| {
        let (alice, id) = (alice.clone(), id.clone());
        tokio::spawn(async move {
            tokio::time::sleep(SPAN).await;
            alice.decide(&id, Choice::Approve, &Verdict::default(), None).await
        })
    });
    let asking: Vec<_> = asking.collect();
    tokio::time::sleep(Duration::from_secs(number("FOLKMOOT_STOP_SECONDS", 2))).await;
    signal(server.pid(), "CONT");
    for answer in join_all(asking).await {
        let error = answer.expect("no panic").expect_err("too late");
        assert!(matches!(error.code(), Some("gate_decided" | "gate_overdue")), "{error:?}");
    }
    timed_out(&alice, &ids).await;
}

async fn open(client: &Client, count: usize) -> Vec<GateId> {
    let timeout_ms = Some(Timeout::After(SPAN));
    let gates = (0..count).map(|n| OpenGate { summary: format!("gate {n}"), timeout_ms, ..OpenGate::default() });
    let opened = gates.map(|gate| async move { client.open_gate(&gate, None).await.expect("it opens").id });
    join_all(opened).await
}

/// Approves as often as it can, until every gate has refused.
async fn hammer(address: SocketAddr, ids: Vec<GateId>, refused: Arc<AtomicU64>) {
    let alice = Client::new(&format!("http://{address}"), ALICE).expect("a client");
    for id in ids {
        loop {
            match alice.decide(&id, Choice::Approve, &Verdict::default(), None).await {
                Ok(gate) => panic!("{id} was approved too late: {gate:?}"),
                Err(Error::Unreachable { .. }) => tokio::time::sleep(Duration::from_millis(1)).await,
                Err(error) => {
                    assert!(matches!(error.code(), Some("gate_decided" | "gate_overdue")), "{error:?}");
                    refused.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
    }
}

/// All of them, each once.
async fn timed_out(client: &Client, ids: &[GateId]) {
    for id in ids {
        let gate = client.wait_gate(id, Duration::from_secs(10)).await.expect("it can be asked");
        assert_eq!(gate.status, GateStatus::TimedOut);
    }
    assert_eq!(ledger::every_gate(client).await.len(), ids.len());
    let log = client.audit(0, 1000).await.expect("the log").entries;
    let decided: Vec<_> = log.iter().filter(|entry| entry.kind == "gate.decided").collect();
    assert_eq!(decided.len(), ids.len(), "each is timed out once");
    let verified = client.verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
}
