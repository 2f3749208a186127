//! Plans over HTTP: the planner API and the resource behind it.

mod compat_client;
mod doors;
mod formats;
mod outages;
mod scenarios;

use serde_json::{Value, json};

use crate::{http::Answer, node::Node};

/// Whoever starts plans here.
pub const AGENT: &str = "agent-a";
/// Whoever decides.
pub const ALICE: &str = "alice";

pub async fn plan(node: &Node, iterations: u32, interval: u32) -> Value {
    let body = json!({ "goal": "Open a second bakery", "max_iterations": iterations, "checkpoint_interval": interval });
    ok(node.post(AGENT, "/api/plan", body).await)
}

pub fn ok(answer: Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Says something to what is asked, as a client of the planner API does: with the id that it was
/// shown, and nothing else.
pub async fn say(node: &Node, asked: &Value, word: &str, more: Value) -> Answer {
    let mut body =
        json!({ "approval_id": asked["approval_id"], "approval_status": word, "timestamp": "2025-10-29T12:00:00Z" });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    node.post(ALICE, "/api/approve", body).await
}

pub async fn approve(node: &Node, asked: &Value) -> Value {
    ok(say(node, asked, "approved", json!({})).await)
}

/// The status and the code of an error in the planner API's body.
pub fn refused(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(body["status"], "error", "{body}");
    assert_eq!(body["error"], body["code"], "{body}");
    assert!(body["message"].as_str().is_some_and(|message| message.len() > 10), "{body}");
    let code = body["code"].as_str().unwrap();
    let explained = include_str!("../../../../docs/errors.md").contains(&format!("`{code}`"));
    assert!(explained, "explain {code} in docs/errors.md");
    (answer.status, code.to_owned())
}

/// The frames of a stream, as their names and what they say; their ids beside them.
pub fn frames(answer: &Answer) -> Vec<(String, Option<u64>, Value)> {
    assert_eq!(answer.status, 200, "{answer:?}");
    let frames = answer.body.split("\n\n").filter(|frame| frame.contains("data:"));
    frames
        .map(|frame| {
            let field =
                |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_owned());
            let told: Value = serde_json::from_str(&field("data:").unwrap()).unwrap();
            let name = field("event:").unwrap();
            assert_eq!(told["type"], name, "{told}");
            (name, field("id:").map(|id| id.parse().unwrap()), told)
        })
        .collect()
}

pub fn names(frames: &[(String, Option<u64>, Value)]) -> Vec<&str> {
    frames.iter().map(|(name, ..)| name.as_str()).collect()
}

pub fn session(asked: &Value) -> &str {
    asked["session_id"].as_str().unwrap()
}
