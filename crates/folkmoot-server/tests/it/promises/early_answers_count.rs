//! A decision that arrives before anyone waits is found by whoever waits later; also when it was
//! made on another node, and in the moment between.

use std::time::{Duration, Instant};

use folkmoot_core::{GateStatus, gate::Choice};

use crate::node::everywhere;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn early_answers_count() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let gate = first.open("early").await;
        first.say("alice", &gate, Choice::Approve).await.unwrap();
        let began = Instant::now();
        let found = last.client("agent-a").wait_gate(&gate.id, Duration::from_secs(60)).await.unwrap();
        assert_eq!(found.status, GateStatus::Approved);
        assert!(began.elapsed() < Duration::from_secs(30), "it waited for what was there already");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_made_on_one_node_wakes_a_waiter_on_another() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for round in 0..30 {
            let gate = first.open(&format!("{round}")).await;
            let waiter = last.client("agent-a");
            let id = gate.id.clone();
            let waiting = tokio::spawn(async move {
                let found = waiter.wait_gate(&id, Duration::from_secs(20)).await;
                (found, Instant::now())
            });
            // From "long before" to "at the same moment" the waiter comes to wait.
            tokio::time::sleep(Duration::from_millis(30u64.saturating_sub(round * 2))).await;
            let decided = first.say("alice", &gate, Choice::Reject).await.unwrap();
            let told = Instant::now();
            let (found, awake) = waiting.await.unwrap();
            assert_eq!(found.unwrap().decision, decided.decision);
            assert!(
                awake.saturating_duration_since(told) < Duration::from_millis(900),
                "round {round} waited for a tick"
            );
        }
    }
}
