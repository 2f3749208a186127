use std::time::Duration;

use folkmoot_core::GateStatus;

use crate::moot::{Moot, agent};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_deadline_fires_at_its_moment_and_not_before() {
    let moot = Moot::start().await;
    let gate = moot.open(Some(MINUTE)).await;
    moot.clock.advance(MINUTE - Duration::from_micros(1));
    assert_eq!(moot.engine.fire_due().await, Ok(0));
    moot.clock.advance(Duration::from_micros(1));
    // The moment is here and nothing has fired: it is already too late to approve.
    let refused = moot.approve(&gate).await.unwrap_err();
    assert!(["gate_overdue", "gate_decided"].contains(&refused.refusal().unwrap().code()), "{refused}");
    moot.engine.fire_due().await.unwrap();
    let view = moot.engine.wait(&agent(), &gate.id, MINUTE).await.unwrap();
    assert_eq!(view.gate.status(), GateStatus::TimedOut);
}

#[tokio::test]
async fn a_sooner_deadline_is_not_slept_through() {
    let moot = Moot::start().await;
    moot.open(Some(MINUTE * 60)).await;
    let gate = moot.open(Some(Duration::from_millis(5))).await;
    moot.clock.advance(Duration::from_millis(5));
    // Nobody calls `fire_due`: the engine's own watch must come round.
    let view = moot.engine.wait(&agent(), &gate.id, Duration::from_secs(10)).await.unwrap();
    assert_eq!(view.gate.status(), GateStatus::TimedOut);
}

#[tokio::test]
async fn a_thousand_deadlines_at_one_moment_all_fire() {
    let moot = Moot::start().await;
    for _ in 0..1000 {
        moot.open(Some(MINUTE)).await;
    }
    moot.clock.advance(MINUTE);
    while moot.engine.pending().await.unwrap() > 0 {
        moot.engine.fire_due().await.unwrap();
    }
}
