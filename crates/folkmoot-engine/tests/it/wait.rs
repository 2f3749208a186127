use std::{sync::Arc, time::Duration};

use folkmoot_core::GateStatus;
use tokio::task::JoinSet;

use crate::moot::{Moot, agent, alice};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiters_on_one_gate_all_wake() {
    let moot = Arc::new(Moot::start().await);
    let gate = moot.open(None).await;
    let mut waiting = JoinSet::new();
    for _ in 0..10_000 {
        let (moot, id) = (moot.clone(), gate.id.clone());
        waiting.spawn(async move { moot.engine.wait(&agent(), &id, LONG).await.unwrap().gate.status() });
    }
    // Some have read the gate by now, some have not even registered.
    tokio::time::sleep(Duration::from_millis(50)).await;
    moot.approve(&gate).await.unwrap();
    let statuses = waiting.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == GateStatus::Approved).count(), 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_wake_up_is_lost_however_the_two_interleave() {
    let moot = Arc::new(Moot::start().await);
    for round in 0..500u64 {
        let gate = moot.open(None).await;
        let (other, id) = (moot.clone(), gate.id.clone());
        let waiting = tokio::spawn(async move { other.engine.wait(&agent(), &id, LONG).await.unwrap() });
        for _ in 0..round % 40 {
            tokio::task::yield_now().await;
        }
        moot.approve(&gate).await.unwrap();
        let view = tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("it wakes").unwrap();
        assert_eq!(view.gate.status(), GateStatus::Approved, "round {round}");
        assert_eq!(view.summary.as_deref(), Some("may I?"));
    }
}

#[tokio::test]
async fn a_wait_that_times_out_returns_the_gate_as_it_is() {
    let moot = Moot::start().await;
    let gate = moot.open(None).await;
    let view = moot.engine.wait(&alice(), &gate.id, Duration::from_millis(10)).await.unwrap();
    assert_eq!(view.gate, gate);
}

#[tokio::test]
async fn a_waiter_for_an_unknown_gate_is_told_so() {
    let moot = Moot::start().await;
    let unknown = "gate-unknown".parse().unwrap();
    let refused = moot.engine.wait(&alice(), &unknown, LONG).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "unknown_gate");
}
