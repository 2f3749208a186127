//! Tokens: made, listed, revoked; never shown twice.

pub mod revoked;

use futures_util::StreamExt;
use serde_json::json;

use crate::{
    http,
    node::{Node, everywhere, token},
};

#[tokio::test]
async fn a_new_token_works_on_every_node_and_a_revoked_one_on_none() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let made = first.post("root-of-all", "/v1/tokens", json!({"name": "dora", "role": "reviewer"})).await;
        assert_eq!(made.status, 201);
        let (id, secret) =
            (made.json()["id"].as_str().unwrap().to_owned(), made.json()["token"].as_str().unwrap().to_owned());
        eventually(|| async { http::send(&last.url, "GET", "/v1/gates", &secret, &[], "").await.status == 200 }).await;
        let listed = first.get("root-of-all", "/v1/tokens").await;
        assert!(listed.body.contains(&id) && !listed.body.contains(&secret), "listed, without its secret");
        assert_eq!(first.get("alice", "/v1/tokens").await.code(), "role_may_not");
        let gone = http::send(&first.url, "DELETE", &format!("/v1/tokens/{id}"), &token("root-of-all"), &[], "").await;
        assert!(gone.json()["revoked_at"].is_string());
        for node in [first, last] {
            assert_eq!(http::send(&node.url, "GET", "/v1/gates", &secret, &[], "").await.status, 401, "on every node");
        }
        let log = first.get("vera", "/v1/audit?limit=1000").await;
        assert!(
            log.body.contains("token.created") && log.body.contains("token.revoked") && !log.body.contains(&secret)
        );
    }
}

/// Two tokens of one person: after one was stolen, the log says which of the decisions were made
/// with it.
#[tokio::test]
async fn each_event_tells_the_token_it_was_made_with() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let tokens = [revoked::mint(first, "dora", "reviewer").await, revoked::mint(first, "dora", "reviewer").await];
        let mut decided = Vec::new();
        for token in &tokens {
            eventually(|| async {
                http::send(&last.url, "GET", "/v1/gates", &token.secret, &[], "").await.status == 200
            })
            .await;
            let gate = first.open("May I?").await.id;
            let path = format!("/v1/gates/{gate}/approve");
            let approved = http::send(&last.url, "POST", &path, &token.secret, &[], "{}").await;
            assert_eq!(approved.status, 200, "{approved:?}");
            decided.push(gate);
        }
        let entries = |who: &'static str, query: String| async move {
            let page = first.get(who, &format!("/v1/audit?limit=1000&{query}")).await.json();
            page["entries"].as_array().unwrap_or_else(|| panic!("{page}")).clone()
        };
        let log = entries("vera", String::new()).await;
        let by_nobody = log.iter().filter(|entry| entry["token_id"].is_null());
        assert!(by_nobody.clone().count() > 0 && by_nobody.clone().all(|entry| entry["actor"] == "system"));
        for (token, gate) in tokens.iter().zip(&decided) {
            // To an agent too: it can check its receipt only with what was hashed.
            for who in ["vera", "agent-a"] {
                let made = entries(who, format!("token_id={}", token.id)).await;
                let made: Vec<_> = made.iter().map(|entry| (&entry["type"], &entry["stream"])).collect();
                assert_eq!(made, [(&json!("gate.decided"), &json!(gate))], "{who}");
            }
            let receipt = last.get("agent-a", &format!("/v1/gates/{gate}/receipt")).await.json();
            assert_eq!(receipt["events"][1]["token_id"], json!(token.id));
            let mut feed = Box::pin(last.client("alice").events(Some(0)).await.unwrap());
            let told = loop {
                let event = feed.next().await.expect("the stream goes on").expect("an event");
                if event.kind == "gate.decided" && event.stream == gate.as_str() {
                    break event;
                }
            };
            assert_eq!(told.token_id.map(String::from), Some(token.id.clone()));
        }
        assert_eq!(first.get("vera", "/v1/audit?token_id=a%20b").await.status, 400);
        first.verifies().await;
    }
}

async fn eventually<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    for _ in 0..200 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it did not come true in two seconds");
}

#[tokio::test]
async fn the_owner_of_the_folder_has_two_tokens_that_others_cannot_read() {
    use std::os::unix::fs::PermissionsExt;
    let node = Node::start().await;
    let file = node.data.path().join("tokens.json");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let tokens: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let (you, agent) = (tokens["you"]["token"].as_str().unwrap(), tokens["agent"]["token"].as_str().unwrap());
    let opened = http::send(&node.url, "POST", "/v1/gates", agent, &[], &json!({"summary": "x"}).to_string()).await;
    let path = format!("/v1/gates/{}/approve", opened.json()["id"].as_str().unwrap());
    assert_eq!(http::send(&node.url, "POST", &path, agent, &[], "{}").await.code(), "role_may_not");
    let at_a_terminal = [("Folkmoot-Presence", "terminal")];
    assert_eq!(http::send(&node.url, "POST", &path, you, &at_a_terminal, "{}").await.status, 200);
    let database = std::fs::read(node.data.path().join("folkmoot.db-wal")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&database).contains(you), "only the hash is stored");
}

#[tokio::test]
async fn whoever_owns_the_folder_gets_a_new_token_for_one_that_was_revoked() {
    let node = Node::start().await;
    let read = |path: &std::path::Path| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path.join("tokens.json")).unwrap()).unwrap()
    };
    let before = read(node.data.path())["agent"]["token"].as_str().unwrap().to_owned();
    let listed = node.get("root-of-all", "/v1/tokens").await.json();
    let agent = listed["tokens"].as_array().unwrap().iter().find(|token| token["name"] == "agent").unwrap().clone();
    let path = format!("/v1/tokens/{}", agent["id"].as_str().unwrap());
    assert_eq!(http::send(&node.url, "DELETE", &path, &token("root-of-all"), &[], "").await.status, 200);
    let data = node.stop().await;
    let node = Node::on(data, crate::node::Setting::default()).await;
    let after = read(node.data.path())["agent"]["token"].as_str().unwrap().to_owned();
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &before, &[], "").await.status, 401, "revoked stays revoked");
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &after, &[], "").await.status, 200);
}
