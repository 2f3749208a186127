//! The same key is the same request.

use serde_json::json;

use crate::{
    http,
    node::{everywhere, token},
};

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_happens_once() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"summary": "once"}).to_string();
        let key = [("idempotency-key", "k-1")];
        let agent = token("agent-a");
        let opened = http::send(&first.url, "POST", "/v1/gates", &agent, &key, &body).await;
        let again = http::send(&last.url, "POST", "/v1/gates", &agent, &key, &body).await;
        assert_eq!((opened.status, again.status), (201, 201));
        assert_eq!(opened.json(), again.json());
        let other =
            http::send(&last.url, "POST", "/v1/gates", &agent, &key, &json!({"summary": "twice"}).to_string()).await;
        assert_eq!((other.status, other.code().as_str()), (422, "idempotency_mismatch"));
        let theirs = http::send(&last.url, "POST", "/v1/gates", &token("agent-b"), &key, &body).await;
        assert_ne!(theirs.json()["id"], opened.json()["id"], "keys are per principal");

        let id = opened.json()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/gates/{id}/approve");
        let approved = http::send(&first.url, "POST", &path, &token("alice"), &key, "{}").await;
        let again = http::send(&last.url, "POST", &path, &token("alice"), &key, "{}").await;
        assert_eq!((approved.status, again.status), (200, 200), "the same decision with the same key is no conflict");
        assert_eq!(approved.json()["decision"], again.json()["decision"]);
        let without = http::send(&last.url, "POST", &path, &token("alice"), &[], "{}").await;
        assert_eq!(without.code(), "gate_decided");
        for bad in ["", "ä"] {
            let answer =
                http::send(&first.url, "POST", &path, &token("alice"), &[("idempotency-key", bad)], "{}").await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "bad_idempotency_key"));
        }
        first.verifies().await;
    }
}
