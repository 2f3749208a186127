//! What a timeout does is configured and explicit; the default is to fail.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::node::{Node, Setting, postgres};

async fn waited(node: &Node, gate: &Value) -> Value {
    node.get("vera", &format!("/v1/gates/{}/wait?timeout_ms=20000", gate["id"].as_str().unwrap())).await.json()
}

#[tokio::test]
async fn silence_is_not_consent() {
    let mut settings = vec![Setting::default()];
    settings.extend(postgres().await);
    for setting in settings {
        let node = Node::with(setting).await;
        let began = Instant::now();
        let silent = node.opened(json!({"summary": "x", "timeout_ms": 400})).await;
        let lapsed = waited(&node, &silent).await;
        assert_eq!((&lapsed["status"], &lapsed["outcome"]), (&json!("timed_out"), &json!("stop")));
        assert_eq!(lapsed["decision"]["reviewer"], "timeout");
        let took = began.elapsed();
        assert!(took >= Duration::from_millis(400) && took < Duration::from_millis(1400), "it fired after {took:?}");
        let late =
            node.post("alice", &format!("/v1/gates/{}/approve", silent["id"].as_str().unwrap()), json!({})).await;
        assert_eq!(late.code(), "gate_decided");

        for (on_timeout, outcome) in [("approve", "proceed"), ("reject", "stop"), ("fail", "stop")] {
            let body = json!({"summary": "x", "timeout_ms": 50, "on_timeout": on_timeout});
            let gate = node.post("alice", "/v1/gates", body).await.json();
            let lapsed = waited(&node, &gate).await;
            assert_eq!((&lapsed["status"], &lapsed["outcome"]), (&json!("timed_out"), &json!(outcome)), "{on_timeout}");
        }
        node.verifies().await;
    }
}

#[tokio::test]
async fn an_escalated_gate_waits_once_more_and_then_fails() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "timeout_ms": 150, "on_timeout": "escalate"})).await;
    let lapsed = waited(&node, &gate).await;
    assert_eq!((&lapsed["status"], &lapsed["outcome"]), (&json!("timed_out"), &json!("stop")));
    assert_eq!(lapsed["escalated"], true);
    let log = node.get("vera", "/v1/audit?limit=1000").await.json();
    let kinds: Vec<_> = log["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|e| e["stream"] == gate["id"])
        .map(|e| e["type"].clone())
        .collect();
    assert_eq!(kinds, ["gate.opened", "gate.escalated", "gate.decided"]);
}

#[tokio::test]
async fn a_gate_that_became_overdue_while_the_server_was_down_was_never_approvable() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "timeout_ms": 300})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    let data = node.stop().await;
    tokio::time::sleep(Duration::from_millis(350)).await;
    let node = Node::on(data, Setting::default()).await;
    let answer = node.post("alice", &format!("{path}/approve"), json!({})).await;
    assert_eq!(answer.status, 409, "{answer:?}");
    assert!(["gate_overdue", "gate_decided"].contains(&answer.code().as_str()));
    assert_eq!(waited(&node, &gate).await["status"], "timed_out");
    node.verifies().await;
}

#[tokio::test]
async fn a_missing_or_unknown_word_is_an_error_and_never_an_approval() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    for body in [
        json!({}),
        json!({"decision": ""}),
        json!({"decision": "approved"}),
        json!({"decision": "APPROVE"}),
        json!({"decision": true}),
    ] {
        assert_eq!(node.post("alice", &format!("{path}/decide"), body.clone()).await.status, 422, "{body}");
    }
    assert_eq!(node.get("alice", &path).await.json()["status"], "pending");
}
