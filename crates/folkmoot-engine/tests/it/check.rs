//! `CheckGate`.

use std::sync::Arc;

use folkmoot_core::{GateStatus, gate::GateConfig};
use folkmoot_engine::PhasePassage;

use crate::moot::{Moot, agent};

#[tokio::test]
async fn where_no_gate_stands_the_run_goes_on_and_leaves_no_row() {
    let moot = Moot::start().await;
    let elsewhere =
        GateConfig { enabled: true, gate_points: vec!["proposal".parse().unwrap()], ..GateConfig::default() };
    for config in [GateConfig::default(), elsewhere] {
        let passed = moot.engine.check_gate(&config, agent().into(), moot.request("merge", None)).await.unwrap();
        let PhasePassage::Auto(auto) = passed else { panic!("a gate was opened: {passed:?}") };
        assert_eq!(
            serde_json::to_value(auto).unwrap(),
            serde_json::json!({"request_id": "", "decision": "approved", "reviewer": "auto", "reason": "gate not enabled for this phase"})
        );
    }
    assert_eq!(moot.engine.position().await, Ok(0));
}

#[tokio::test]
async fn at_a_gate_point_the_run_waits_until_somebody_has_decided() {
    let moot = Arc::new(Moot::start().await);
    let config = GateConfig { enabled: true, gate_points: vec!["merge".parse().unwrap()], ..GateConfig::default() };
    let other = moot.clone();
    let running =
        tokio::spawn(
            async move { other.engine.check_gate(&config, agent().into(), other.request("merge", None)).await },
        );
    let query = folkmoot_store::GateQuery { limit: 10, ..Default::default() };
    let gate = loop {
        let page = moot.engine.gates(&agent(), query.clone()).await.unwrap();
        if let Some(view) = page.items.into_iter().next() {
            break view.gate;
        }
        tokio::task::yield_now().await;
    };
    assert!(!running.is_finished());
    moot.approve(&gate).await.unwrap();
    let PhasePassage::Decided(view) = running.await.unwrap().unwrap() else { panic!("it was not decided") };
    assert_eq!(view.gate.status(), GateStatus::Approved);
}
