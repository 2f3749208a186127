//! Debates over HTTP: `/v1/debates`, HelixAgent's `/v1/debate/…/gates`, and the trail.

mod bad_input;
mod compat_gates;
mod doors;
mod fields;
pub mod lessons;
mod mcp;
mod replay;
mod tables;
mod tidy;
mod trail;

use std::time::Duration;

use serde_json::{Value, json};

use crate::{http::Answer, node::Node};

/// Whoever starts debates here.
pub const AGENT: &str = "agent-a";
/// Whoever decides.
pub const ALICE: &str = "alice";
/// What is debated where it does not matter.
pub const TOPIC: &str = "Should we write tests first?";

pub fn ok(answer: Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Starts a debate on [`TOPIC`] with this, as [`AGENT`].
pub async fn start(node: &Node, with: Value) -> String {
    start_as(node, AGENT, with).await
}

pub async fn start_as(node: &Node, who: &str, with: Value) -> String {
    let mut body = json!({ "topic": TOPIC, "preset": "quick" });
    for (key, value) in with.as_object().unwrap() {
        body[key] = value.clone();
    }
    let started = node.post(who, "/v1/debates", body).await;
    assert_eq!(started.status, 202, "{started:?}");
    started.json()["id"].as_str().unwrap().to_owned()
}

/// Gates after these phases.
pub fn gates(points: &[&str]) -> Value {
    json!({ "enabled": true, "gate_points": points })
}

pub async fn show(node: &Node, id: &str) -> Value {
    ok(node.get(ALICE, &format!("/v1/debates/{id}")).await)
}

/// Waits until it is over.
pub async fn over(node: &Node, id: &str) -> Value {
    ok(node.get(ALICE, &format!("/v1/runs/{id}/wait?timeout_ms=60000")).await);
    let debate = show(node, id).await;
    assert!(!debate["completed_at"].is_null(), "it is not over: {debate:#}");
    debate
}

/// Waits until it waits at a gate, at another than `after`.
pub async fn waits(node: &Node, id: &str, after: &str) -> String {
    for _ in 0..2_000 {
        let status = ok(node.get(ALICE, &format!("/v1/debates/{id}/status")).await);
        match status["waiting_at"].as_str() {
            Some(gate) if gate != after => return gate.to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("it never waited: {:#}", show(node, id).await);
}

/// [`ALICE`] decides on the gate at which a debate waits, at the debate's own door.
pub async fn decide(node: &Node, id: &str, verb: &str, mut body: Value) -> Answer {
    let status = ok(node.get(ALICE, &format!("/v1/debates/{id}/status")).await);
    if let Some(gate) = status["waiting_at"].as_str() {
        body["request_id"] = json!(gate);
    }
    node.post(ALICE, &format!("/v1/debates/{id}/{verb}"), body).await
}

/// The status and the code of a problem, which docs/errors.md explains.
pub fn refused(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(body["status"], answer.status, "{body}");
    assert!(body["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{body}");
    let code = body["code"].as_str().unwrap();
    let explained = include_str!("../../../../docs/errors.md").contains(&format!("`{code}`"));
    assert!(explained, "explain {code} in docs/errors.md");
    (answer.status, code.to_owned())
}

/// The frames of a stream: name, id, data.
pub fn frames(answer: &Answer) -> Vec<(String, u64, Value)> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let frames = answer.body.split("\n\n").filter(|frame| frame.contains("data:"));
    frames
        .map(|frame| {
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
            (field("event:"), field("id:").parse().unwrap(), serde_json::from_str(&field("data:")).unwrap())
        })
        .collect()
}

pub async fn follow(node: &Node, id: &str, last: Option<u64>) -> Vec<(String, u64, Value)> {
    let last = last.map(|last| last.to_string());
    let headers: Vec<(&str, &str)> = last.iter().map(|last| ("last-event-id", last.as_str())).collect();
    let path = format!("/v1/debates/{id}/events");
    frames(&crate::http::send(&node.url, "GET", &path, &crate::node::token(AGENT), &headers, "").await)
}

/// What it told, of this kind.
pub async fn told(node: &Node, id: &str, kind: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for (name, _, data) in follow(node, id, None).await {
        if name == kind {
            found.push(data["payload"].clone());
        }
    }
    found
}

pub async fn turns(node: &Node, id: &str, query: &str) -> Vec<Value> {
    let list = ok(node.get(ALICE, &format!("/v1/debates/{id}/turns?limit=200{query}")).await);
    assert!(list["next"].is_null());
    list["turns"].as_array().unwrap().clone()
}
