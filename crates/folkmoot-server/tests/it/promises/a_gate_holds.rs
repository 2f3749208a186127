//! No road leads past an undecided gate: not resume, a restart, a second node, a second request, a
//! changed configuration.

use std::time::Duration;

use folkmoot_core::{
    GateStatus,
    gate::{Choice, GatePolicy},
};
use serde_json::json;

use crate::{
    node::{Node, Setting, postgres},
    runs::with_workflows,
};

#[tokio::test]
async fn a_gate_holds() {
    let node = Node::start().await;
    let gate = node.open("hold").await;
    for _ in 0..3 {
        let waited = node.client("agent-a").wait_gate(&gate.id, Duration::from_millis(30)).await.unwrap();
        assert_eq!(
            (waited.status, waited.outcome),
            (GateStatus::Pending, None),
            "a wait that times out decides nothing"
        );
    }
    for verb in ["approve", "reject", "adjust", "pause", "decide"] {
        let body = json!({"decision": "approve", "reason": "me", "feedback": "me"});
        let answer = node.post("agent-a", &format!("/v1/gates/{}/{verb}", gate.id), body).await;
        assert!(matches!(answer.status, 403 | 422), "{verb}: {answer:?}");
    }
    let data = node.stop().await;
    let node = Node::on(data, Setting::default()).await;
    let waited = node.client("agent-a").wait_gate(&gate.id, Duration::from_millis(30)).await.unwrap();
    assert_eq!(waited.status, GateStatus::Pending, "a restart decides nothing");
    node.say("alice", &gate, Choice::Approve).await.unwrap();
    assert_eq!(node.client("agent-a").gate(&gate.id).await.unwrap().status, GateStatus::Approved);
}

#[tokio::test]
async fn a_gate_opened_before_a_restart_is_decided_after_it_and_its_waiter_learns_it() {
    let mut settings = vec![Setting::default()];
    settings.extend(postgres().await);
    for setting in settings {
        let node = Node::with(setting.clone()).await;
        let gate = node.open("across").await;
        let data = node.stop().await;
        let node = Node::on(data, setting).await;
        let waiter = node.client("agent-a");
        let id = gate.id.clone();
        let waiting = tokio::spawn(async move { waiter.decided(&id, Duration::from_secs(5)).await });
        node.say("bob", &gate, Choice::Reject).await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().status, GateStatus::Rejected);
    }
}

#[tokio::test]
async fn a_changed_configuration_does_not_reach_a_gate_that_stands() {
    let strict = GatePolicy { reviewers: vec!["alice".parse().unwrap()], ..GatePolicy::default() };
    let node = Node::with(Setting { policy: strict, ..Setting::default() }).await;
    let gate = node.open("strict").await;
    let data = node.stop().await;
    let node = Node::on(data, Setting::default()).await;
    let refused = node.say("bob", &gate, Choice::Approve).await.unwrap_err();
    assert_eq!(refused.code(), Some("not_a_reviewer"));
    node.say("alice", &gate, Choice::Approve).await.unwrap();
}

#[tokio::test]
async fn resume_does_not_pass() {
    let mut settings = vec![with_workflows()];
    settings.extend(postgres().await.map(|setting| Setting { database: setting.database, ..with_workflows() }));
    for setting in settings {
        let node = Node::with(setting.clone()).await;
        let run = node.starts("publish@1", json!("News")).await;
        let gate = node.gate_of(&run).await;
        let tries = async |node: &Node| {
            for who in ["agent-a", "alice", "root-of-all"] {
                let resumed = node.to_run(who, &run, "resume", json!({})).await;
                assert_eq!((resumed.status, resumed.code().as_str()), (409, "run_waits"), "{who}");
            }
            let ended = node.to_run("agent-a", &run, "end", json!({"status": "completed"})).await;
            assert_eq!((ended.status, ended.code().as_str()), (409, "not_yours"), "nor does saying that it is over");
            let shipped = json!({"key": "ship", "kind": "once", "state": "done"});
            assert_eq!(node.records(&run, shipped).await.code(), "not_yours", "nor a made-up step");
            assert_eq!(node.gate_of(&run).await, gate);
            assert_eq!(node.journal_of(&run).await.len(), 2, "nothing behind the gate was done");
        };
        tries(&node).await;
        let data = node.stop().await;
        let node = Node::on(data, setting).await;
        tries(&node).await;
        let withdrawn = node.post("agent-a", &format!("/v1/gates/{gate}/cancel"), json!({})).await;
        assert_eq!((withdrawn.status, withdrawn.code().as_str()), (403, "not_requester"), "it is its workflow's");
        let cancelled = node.post("alice", &format!("/v1/gates/{gate}/cancel"), json!({})).await;
        assert_eq!(cancelled.status, 200, "{cancelled:?}");
        node.until_is(&run, "failed").await;
        assert_eq!(node.journal_of(&run).await.len(), 2, "a gate that was withdrawn is not passed");
    }
}
