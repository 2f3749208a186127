//! A decision names the digest of the content it was made on; if the content changed since, it is
//! refused as stale.

use serde_json::json;

use crate::{
    http,
    node::{Node, token},
};

#[tokio::test]
async fn you_approve_what_you_saw() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "pay 100"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    let patch = json!({"summary": "pay 50000"}).to_string();
    let amended = http::send(&node.url, "PATCH", &path, &token("agent-a"), &[], &patch).await.json();
    let stale = node.post("alice", &format!("{path}/approve"), json!({"digest": gate["digest"]})).await;
    assert_eq!((stale.status, stale.code().as_str()), (409, "stale_digest"));
    assert_eq!(stale.json()["digest"], amended["digest"], "and is told the one that is right");
    let fresh = node.post("alice", &format!("{path}/approve"), json!({"digest": amended["digest"]})).await.json();
    assert_eq!(fresh["decision"]["digest"], amended["digest"]);
    let late = http::send(&node.url, "PATCH", &path, &token("agent-a"), &[], &patch).await;
    assert_eq!(late.code(), "gate_decided", "content freezes on decision");
}

#[tokio::test]
async fn a_critical_gate_is_not_decided_without_a_digest() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "drop the table", "risk": "critical"})).await;
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    let blind = node.post("alice", &path, json!({})).await;
    assert_eq!((blind.status, blind.code().as_str()), (422, "digest_required"));
    assert_eq!(node.post("alice", &path, json!({"digest": gate["digest"]})).await.status, 200);
}

#[tokio::test]
async fn only_the_requester_changes_the_content() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    for (who, code) in [("agent-b", "unknown_gate"), ("alice", "not_requester")] {
        let answer = http::send(&node.url, "PATCH", &path, &token(who), &[], r#"{"summary":"y"}"#).await;
        assert_eq!(answer.code(), code);
    }
}

#[tokio::test]
async fn a_title_that_was_the_first_line_follows_the_summary() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "Fix a typo\nin the readme"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    let amend = async |body: &str| http::send(&node.url, "PATCH", &path, &token("agent-a"), &[], body).await.json();
    assert_eq!(amend(r#"{"summary":"Delete the customers table"}"#).await["title"], "Delete the customers table");
    assert_eq!(amend(r#"{"title":"Careful"}"#).await["title"], "Careful");
    assert_eq!(amend(r#"{"summary":"Delete everything"}"#).await["title"], "Careful", "a title that was given stays");
}
