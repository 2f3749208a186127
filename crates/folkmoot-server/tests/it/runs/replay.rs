//! The same key is the same request.

use serde_json::{Value, json};

use crate::{
    halting::id,
    http::{self, Answer},
    node::{everywhere, token},
};

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_happens_once() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let send = |node: usize, path: String, key: &'static str, body: Value| {
            let url = nodes[node % nodes.len()].url.clone();
            async move {
                http::send(&url, "POST", &path, &token("agent-a"), &[("idempotency-key", key)], &body.to_string()).await
            }
        };
        let same = |one: &Answer, two: &Answer| {
            let timeless = |answer: &Answer| {
                let mut json = answer.json();
                json["active_ms"] = json!(0);
                json
            };
            assert_eq!((one.status, timeless(one)), (two.status, timeless(two)));
        };
        let body = json!({"title": "once"});
        let one = send(0, "/v1/runs".into(), "k-1", body.clone()).await;
        same(&one, &send(1, "/v1/runs".into(), "k-1", body).await);
        assert_eq!(one.status, 201);
        let other = send(1, "/v1/runs".into(), "k-1", json!({"title": "twice"})).await;
        assert_eq!((other.status, other.code().as_str()), (422, "idempotency_mismatch"));
        let run = id(&one.json());
        assert_eq!(last.get("vera", "/v1/runs").await.json()["runs"].as_array().unwrap().len(), 1);

        let steps = format!("/v1/runs/{run}/steps");
        let begin = json!({"key": "a", "kind": "once", "state": "begun"});
        for node in 0..2 {
            let begun = send(node, steps.clone(), "k-2", begin.clone()).await;
            assert_eq!(begun.status, 201, "whoever did not hear the answer is told again to do it: {begun:?}");
        }
        let another = send(1, steps.clone(), "k-3", begin.clone()).await;
        assert_eq!(another.status, 200, "another request is another attempt: {another:?}");
        let done = json!({"key": "a", "kind": "once", "state": "done", "result": 7});
        same(&send(0, steps.clone(), "k-4", done.clone()).await, &send(1, steps.clone(), "k-4", done).await);
        let late = send(1, steps, "k-2", begin).await;
        assert_eq!((late.status, &late.json()["result"]), (200, &json!(7)), "nobody is told to do what is done");

        let (end, completed) = (format!("/v1/runs/{run}/end"), json!({"status": "completed"}));
        same(&send(0, end.clone(), "k-5", completed.clone()).await, &send(1, end, "k-5", completed).await);
        let run = id(&send(0, "/v1/runs".into(), "k-6", json!({})).await.json());
        let cancel = format!("/v1/runs/{run}/cancel");
        same(&send(0, cancel.clone(), "k-7", json!({})).await, &send(1, cancel, "k-7", json!({})).await);
        let told = first.story(&format!("run:{run}")).await;
        assert_eq!(told, ["run.started", "run.ended"]);
        first.verifies().await;
    }
}

/// Of two that begin the same step at the same moment one is told to do it.
#[tokio::test]
async fn of_many_that_begin_a_step_one_does_it() {
    for nodes in everywhere().await {
        let run = nodes[0].starts_own().await;
        let path = format!("/v1/runs/{run}/steps");
        let begins = (0..32).map(|n| {
            let (url, path, key) = (nodes[n % nodes.len()].url.clone(), path.clone(), format!("k-{n}"));
            let body = json!({"key": "a", "kind": "once", "state": "begun"}).to_string();
            tokio::spawn(async move {
                // With and without a key.
                let headers = [("idempotency-key", key.as_str())];
                http::send(&url, "POST", &path, &token("agent-a"), &headers[..n % 2], &body).await.status
            })
        });
        let mut told = Vec::new();
        for begin in begins.collect::<Vec<_>>() {
            told.push(begin.await.unwrap());
        }
        told.sort_unstable();
        assert_eq!(told.iter().filter(|status| **status == 201).count(), 1, "{told:?}");
        assert_eq!(told.iter().filter(|status| **status == 200).count(), 31, "{told:?}");
    }
}
