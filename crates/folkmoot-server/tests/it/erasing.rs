//! Erasing over HTTP.

use serde_json::{Value, json};

use crate::{
    http::{self, Answer},
    node::{Node, everywhere, token},
};

impl Node {
    async fn erases(&self, who: &str, path: &str, body: Value) -> Answer {
        http::send(&self.url, "DELETE", path, &token(who), &[], &body.to_string()).await
    }
}

#[tokio::test]
async fn an_admin_erases_what_a_gate_has_shown_once_it_is_decided() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let note = json!({"name": "note", "media_type": "text/plain", "content": "sk-secret"});
        let gate = first.opened(json!({"summary": "Use the key?", "artifacts": [note]})).await;
        let id = gate["id"].as_str().unwrap();
        let digest = gate["artifacts"][0]["digest"].as_str().unwrap().to_owned();
        let (one, all) = (format!("/v1/artifacts/{digest}"), format!("/v1/gates/{id}/contents"));
        let why = json!({"reason": "a key was in it"});
        for path in [&one, &all] {
            assert_eq!(first.erases("root-of-all", path, why.clone()).await.code(), "content_in_use", "{path}");
            assert_eq!(first.erases("alice", path, why.clone()).await.code(), "role_may_not", "{path}");
            assert_eq!(first.erases("root-of-all", path, json!({})).await.code(), "invalid", "{path}");
        }
        assert_eq!(first.erases("agent-b", &all, why.clone()).await.code(), "unknown_gate");
        let unknown = format!("/v1/artifacts/sha256:{}", "0".repeat(64));
        assert_eq!(first.erases("root-of-all", &unknown, why.clone()).await.code(), "unknown_content");
        assert_eq!(first.erases("root-of-all", "/v1/artifacts/nothing", why.clone()).await.code(), "unknown_content");

        assert_eq!(first.post("alice", &format!("/v1/gates/{id}/approve"), json!({})).await.status, 200);
        let erased = first.erases("root-of-all", &one, why.clone()).await;
        assert_eq!((erased.status, &erased.json()["erased"]), (200, &json!([digest])), "{erased:?}");
        assert_eq!(erased.json()["scrubbed"], nodes.len() == 1, "PostgreSQL vacuums in its own time");
        let shown = last.get("vera", &format!("/v1/gates/{id}")).await.json();
        assert_eq!((&shown["artifacts"][0]["content"], &shown["summary"]), (&Value::Null, &json!("Use the key?")));
        assert_eq!(last.erases("root-of-all", &all, why.clone()).await.json()["erased"].as_array().unwrap().len(), 1);
        for node in [first, last] {
            let shown = node.get("vera", &format!("/v1/gates/{id}")).await.json();
            assert_eq!((&shown["summary"], &shown["title"]), (&Value::Null, &json!("Use the key?")));
            node.verifies().await;
        }
        for node in [first, last] {
            let again = node.post("agent-a", "/v1/gates", json!({"summary": "Use the key?"})).await;
            assert_eq!((again.status, again.code()), (409, "content_erased".into()), "{again:?}");
        }
    }
}

#[tokio::test]
async fn a_step_keeps_a_result_that_a_gate_had_shown_and_that_was_erased() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let empty = json!({"name": "plan", "media_type": "application/json", "content": "{}"});
        let gate = first.opened(json!({"summary": "The plan", "artifacts": [empty]})).await;
        let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
        assert_eq!(first.post("alice", &format!("{path}/approve"), json!({})).await.status, 200);
        let why = json!({"reason": "a key was in it"});
        assert_eq!(first.erases("root-of-all", &format!("{path}/contents"), why).await.status, 200);

        let run = first.starts_own().await;
        let recorded = first.records(&run, json!({"key": "step", "state": "done", "result": {}})).await;
        assert!(recorded.status < 300, "{recorded:?}");
        let journal = last.journal_of(&run).await;
        assert_eq!(journal[0]["result"], json!({}), "{journal:?}");
        assert_eq!(last.get("vera", &path).await.json()["artifacts"][0]["content"], Value::Null);
        last.verifies().await;
    }
}

#[tokio::test]
async fn content_that_is_gone_without_an_erasure_is_found() {
    let node = Node::start().await;
    node.opened(json!({"summary": "still needed"})).await;
    node.verifies().await;
    let data = node.stop().await;
    let database = rusqlite::Connection::open(data.path().join("folkmoot.db")).unwrap();
    assert!(database.execute("UPDATE artifacts SET content = NULL", []).unwrap() > 0);
    let node = Node::on(data, crate::node::Setting::default()).await;
    let found = node.client("vera").verify().await.unwrap();
    assert!(found.problems.iter().any(|problem| problem.problem.contains("nobody has erased it")), "{found:?}");
}
