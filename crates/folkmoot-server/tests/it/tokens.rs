//! Tokens: made, listed, revoked; never shown twice.

pub mod revoked;

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
