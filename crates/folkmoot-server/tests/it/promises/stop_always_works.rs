//! Cancel ends a run in any state, and reaches what is in flight.

use folkmoot_engine::WorkerSettings;
use serde_json::json;

use crate::{
    node::{Node, Setting, everywhere_with},
    runs::with_workflows,
};

/// Cancels the run from another node than the one that it was started on, and looks at what is left
/// of it.
async fn stops(nodes: &[Node], run: &str, was: &str) {
    let (first, last) = (&nodes[0], nodes.last().unwrap());
    assert_eq!(first.run(run).await["status"], was);
    let cancelled = last.to_run("alice", run, "cancel", json!({"reason": "stop"})).await;
    assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")), "{was}: {cancelled:?}");
    let ended = first.get("agent-a", &format!("/v1/runs/{run}/wait?timeout_ms=20000")).await.json();
    assert_eq!((&ended["status"], &ended["ending"]["by"]), (&json!("cancelled"), &json!("alice")), "{was}");
    assert_eq!((&ended["node"], &ended["waiting_at"]), (&json!(null), &json!(null)), "{was}");
    let log = first.story(&format!("run:{run}")).await;
    assert_eq!(log.last().unwrap(), "run.ended", "{was}: nothing comes after the end");
}

/// One run at a time: so whoever waits for a place is pending, and a place that is not given back
/// is missed.
fn one_at_a_time() -> Setting {
    Setting { work: Some(WorkerSettings { runs_at_once: 1, ..WorkerSettings::default() }), ..with_workflows() }
}

#[tokio::test]
async fn stop_always_works() {
    for nodes in everywhere_with(one_at_a_time).await {
        let first = &nodes[0];
        let outside = first.starts_own().await;
        stops(&nodes, &outside, "running").await;

        let at_a_gate = first.starts("publish@1", json!("x")).await;
        let gate = first.gate_of(&at_a_gate).await;
        stops(&nodes, &at_a_gate, "parked").await;
        assert_eq!(first.get("vera", &format!("/v1/gates/{gate}")).await.json()["status"], "cancelled");
        let late = first.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await;
        assert_eq!((late.status, late.code().as_str()), (409, "gate_decided"));

        let asking = first.starts("asks@1", json!(null)).await;
        let parked = first.until_is(&asking, "parked").await;
        stops(&nodes, &asking, "parked").await;
        let question = parked["waiting_at"]["questions"][0].as_str().unwrap();
        assert_eq!(first.question("vera", question).await["status"], "cancelled");

        let sleeping = first.starts("sleeps@1", json!(null)).await;
        first.until(&sleeping, |run| run["waiting_at"]["until"].is_string()).await;
        stops(&nodes, &sleeping, "parked").await;

        let stopped = first.starts("twice@1", json!(null)).await;
        first.until_is(&stopped, "stopped").await;
        stops(&nodes, &stopped, "stopped").await;

        let halt = first.halts(json!({"scope": "all"})).await;
        crate::halting::covered(&nodes, "anybody", "", &[&halt]).await;
        let halted = first.starts("works@1", json!(null)).await;
        let parked = first.until_is(&halted, "parked").await;
        assert_eq!(parked["waiting_at"]["held"], json!([halted]), "its agent is called as it is");
        stops(&nodes, &halted, "parked").await;
        first.lifts(&halt).await;
        crate::halting::settles(&nodes, "anybody", "", true).await;

        // In the middle of a step that never returns, on as many nodes as there are; then one more
        // has no place.
        let mut never = Vec::new();
        for _ in &nodes {
            never.push(first.starts("never@1", json!(null)).await);
        }
        for run in &never {
            first.until(run, |run| run["node"].is_string()).await;
        }
        let pending = first.starts("works@1", json!(null)).await;
        stops(&nodes, &pending, "pending").await;
        for run in &never {
            stops(&nodes, run, "running").await;
        }
        let after = first.starts("works@1", json!(null)).await;
        let ended = first.until_is(&after, "completed").await;
        assert_eq!(ended["ending"]["output"], 7, "their places are free again");
        first.verifies().await;
    }
}
