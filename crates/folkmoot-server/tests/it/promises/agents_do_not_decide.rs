//! No agent token can decide, and none can weaken a gate. Nobody decides on a gate that their own
//! token opened. A GET never changes anything.

use folkmoot_core::{
    Timeout,
    gate::{GatePolicy, OnTimeout},
};
use serde_json::json;
use std::time::Duration;

use crate::node::{Node, Setting};

#[tokio::test]
async fn agents_do_not_decide() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    for who in ["agent-a", "agent-b", "vera"] {
        for verb in ["approve", "reject", "adjust", "pause"] {
            let answer = node.post(who, &format!("{path}/{verb}"), json!({"reason": "I may", "feedback": "x"})).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{who} {verb}");
        }
    }
    let refused = node.get("alice", "/v1/audit?limit=1000").await.json();
    let refused = refused["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "gate.refused");
    assert_eq!(refused.count(), 12, "every attempt is in the log");
    assert_eq!(node.get("alice", &path).await.json()["status"], "pending");
    node.verifies().await;
}

#[tokio::test]
async fn nobody_decides_on_a_gate_that_they_opened() {
    let node = Node::start().await;
    let gate = node.post("alice", "/v1/gates", json!({"summary": "mine"})).await.json();
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    assert_eq!(node.post("alice", &path, json!({})).await.code(), "own_gate");
    let gate = node.post("root-of-all", "/v1/gates", json!({"summary": "mine"})).await.json();
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    let forced = node.post("root-of-all", &path, json!({"force": true, "reason": "I am root"})).await;
    assert_eq!(forced.code(), "own_gate", "not by force either");
    let on_behalf = node.post("agent-a", "/v1/gates", json!({"summary": "x", "on_behalf_of": "bob"})).await;
    assert_eq!(on_behalf.code(), "names_person", "nor has an agent speak for them");
}

#[tokio::test]
async fn an_agent_may_only_tighten_the_policy() {
    let policy = GatePolicy {
        reviewers: vec!["alice".parse().unwrap(), "bob".parse().unwrap(), "carol".parse().unwrap()],
        quorum: 2,
        ..GatePolicy::default()
    };
    let node = Node::with(Setting { policy, ..Setting::default() }).await;
    for weaker in [
        json!({"quorum": 1}),
        json!({"reviewers": []}),
        json!({"reviewers": ["alice", "bob", "mallory"]}),
        json!({"on_timeout": "approve"}),
        json!({"reject_quorum": 2}),
        json!({"risk": "critical", "self_review": "allow"}),
    ] {
        let mut body = weaker.clone();
        body["summary"] = json!("x");
        let answer = node.post("agent-a", "/v1/gates", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "weakens_policy"), "{weaker}");
    }
    node.opened(json!({"summary": "x", "quorum": 3})).await;
    node.opened(json!({"summary": "x", "reviewers": ["alice", "bob"]})).await;
    node.opened(json!({"summary": "x", "self_review": "deny", "on_timeout": "reject"})).await;
}

#[tokio::test]
async fn where_silence_consents_an_agent_cannot_shorten_the_silence() {
    let timeout = Timeout::After(Duration::from_secs(3600));
    let policy = GatePolicy { on_timeout: OnTimeout::Approve, timeout, ..GatePolicy::default() };
    let node = Node::with(Setting { policy, ..Setting::default() }).await;
    let answer = node.post("agent-a", "/v1/gates", json!({"summary": "x", "timeout_ms": 1})).await;
    assert_eq!(answer.code(), "weakens_policy");
}

#[tokio::test]
async fn a_get_never_changes_anything() {
    let node = Node::start().await;
    let denied = node.asks("a1", "", "APPROVAL").await;
    node.says(&denied, "deny").await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let before = node.get("vera", "/v1/audit?limit=1000").await.body;
    let id = gate["id"].as_str().unwrap();
    for path in ["", "/approve", "/reject", "/decide", "/cancel", "/extend", "/wait?timeout_ms=1"] {
        let answer = node.get("alice", &format!("/v1/gates/{id}{path}")).await;
        assert!(matches!(answer.status, 200 | 405), "{path}: {answer:?}");
    }
    for path in ["", "/answer", "/deny", "/acknowledge", "/wait?timeout_ms=1"] {
        let answer = node.get("agent-a", &format!("/v1/questions/{denied}{path}")).await;
        assert!(matches!(answer.status, 200 | 405), "{path}: {answer:?}");
    }
    assert_eq!(node.get("vera", "/v1/audit?limit=1000").await.body, before);
}
