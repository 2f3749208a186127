//! A commit that waits for a standby, and is told to wait no longer: PostgreSQL answers success,
//! and means only itself.

use std::time::Duration;

use folkmoot_api::{
    client::Error,
    core::{GateStatus, gate::Choice},
    wire::{Gate, OpenGate, Verdict},
};

use super::{cluster::Cluster, eventually, process::Home};
use crate::server::{ALICE, ROBOT};

/// Done to whoever waits for the standby, until nobody calls any more.
async fn meanwhile<T>(cluster: &Cluster, ends_the_wait: &str, call: impl Future<Output = T>) -> T {
    let admin = cluster.connect().await;
    let end = format!("SELECT {ends_the_wait}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let ending = async {
        loop {
            admin.batch_execute(&end).await.expect("an answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        answer = call => answer,
        () = ending => unreachable!("it goes on for ever"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_told_not_to_wait_for_its_standby_is_not_acknowledged() {
    let Some(cluster) = Cluster::start().await else { return };
    let server = Home::on(&cluster.database()).start().await;
    let (robot, alice) = (server.client(ROBOT), server.client(ALICE));
    for ends_the_wait in ["pg_cancel_backend", "pg_terminate_backend"] {
        let open = OpenGate { summary: "Deploy".to_owned(), ..OpenGate::default() };
        let gate = eventually(async || robot.open_gate(&open, None).await.ok()).await;
        let approve = async || -> Result<Gate, Error> {
            alice.decide(&gate.id, Choice::Approve, &Verdict::default(), Some(ends_the_wait)).await
        };
        // It is away for good.
        cluster.set("synchronous_standby_names", "nobody").await;
        let answer = meanwhile(&cluster, ends_the_wait, approve()).await;
        let code = answer.as_ref().map_err(|error| error.code());
        assert_eq!(code.err().flatten(), Some("outcome_unknown"), "{ends_the_wait}: {answer:?}");
        // Whoever asks again is not told yes for as long as it could still be lost.
        let again = meanwhile(&cluster, ends_the_wait, approve()).await;
        let code = again.as_ref().map_err(|error| error.code());
        let doubt = [Some("outcome_unknown"), Some("database_unavailable")];
        assert!(code.is_err_and(|code| doubt.contains(&code)), "{ends_the_wait}: {again:?}");
        cluster.set("synchronous_standby_names", "").await;
        let decided = eventually(async || approve().await.ok()).await;
        assert_eq!(decided.status, GateStatus::Approved);
    }
}
