//! What bad input about runs gets: a status, a stable code, a sentence; and nothing is changed.

use serde_json::{Value, json};

use super::with_workflows;
use crate::{
    http,
    node::{everywhere_with, token},
};

/// So many lists in each other.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[tokio::test]
async fn bad_input_is_refused_and_nothing_is_changed() {
    for nodes in everywhere_with(with_workflows).await {
        let node = nodes.last().unwrap();
        let run = node.starts_own().await;
        let steps = format!("/v1/runs/{run}/steps");
        let end = format!("/v1/runs/{run}/end");
        let verb = |verb: &str| format!("/v1/runs/{run}/{verb}");
        let before = node.log("vera").await;
        let done = |more: Value| {
            let mut body = json!({"key": "a", "state": "done"});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let start = "/v1/runs".to_owned();
        #[rustfmt::skip]
        let cases: Vec<(&String, Value)> = vec![
            (&start, json!({"name": "x"})),
            (&start, json!({"title": 7})),
            (&start, json!({"title": "two\nlines"})),
            (&start, json!({"title": "a\u{0}b"})),
            (&start, json!({"title": "x".repeat(301)})),
            (&start, json!({"id": ""})),
            (&start, json!({"id": "a b"})),
            (&start, json!({"id": "../x"})),
            (&start, json!({"id": "system"})),
            (&start, json!({"id": "workflow:x@1"})),
            (&start, json!({"id": "x".repeat(129)})),
            (&start, json!({"session_id": "a/b"})),
            (&start, json!({"kind": "debate"})),
            (&start, json!({"kind": "custom"})),
            (&start, json!({"kind": "external", "workflow": "publish@1"})),
            (&start, json!({"workflow": "publish"})),
            (&start, json!({"workflow": "publish@2"})),
            (&start, json!({"workflow": "Publish@1"})),
            (&start, json!({"input": "x".repeat(1 << 20)})),
            (&start, json!({"input": {"a": "\u{0}"}})),
            (&start, json!({"input": deep(65)})),
            (&start, json!({"limits": {"steps": 1}})),
            (&start, json!({"limits": {"steps_max": -1}})),
            (&start, json!({"limits": 7})),
            (&start, json!({"limits": [1, 1, 1]})),
            (&steps, json!({"key": "a", "state": "failed", "error": ["failed", "no"]})),
            (&steps, json!({})),
            (&steps, done(json!({"kind": "now"}))),
            (&steps, done(json!({"kind": "gate"}))),
            (&steps, json!({"key": "a"})),
            (&steps, json!({"state": "begun"})),
            (&steps, json!({"key": "", "state": "begun"})),
            (&steps, json!({"key": " a", "state": "begun"})),
            (&steps, json!({"key": "a\nb", "state": "begun"})),
            (&steps, json!({"key": "a\u{0}", "state": "begun"})),
            (&steps, json!({"key": "x".repeat(257), "state": "begun"})),
            (&steps, json!({"key": "a", "state": "waiting"})),
            (&steps, json!({"key": "a", "state": "failing"})),
            (&steps, json!({"key": "a", "state": "finished"})),
            (&steps, json!({"key": "a", "kind": "gate", "state": "begun"})),
            (&steps, json!({"key": "a", "kind": "now", "state": "done"})),
            (&steps, json!({"key": "a", "kind": "thing", "state": "begun"})),
            (&steps, json!({"key": "a", "state": "begun", "result": 1})),
            (&steps, json!({"key": "a", "state": "begun", "error": {"message": "x"}})),
            (&steps, json!({"key": "a", "state": "failed"})),
            (&steps, json!({"key": "a", "state": "failed", "error": "x"})),
            (&steps, json!({"key": "a", "state": "failed", "error": {"code": "x"}})),
            (&steps, json!({"key": "a", "state": "failed", "error": {"message": "x"}, "result": 1})),
            (&steps, json!({"key": "a", "state": "failed", "error": {"message": "x", "more": 1}})),
            (&steps, done(json!({"error": {"message": "x"}}))),
            (&steps, done(json!({"result": "\u{0}"}))),
            (&steps, done(json!({"result": {"\u{0}": 1}}))),
            (&steps, done(json!({"result": deep(65)}))),
            (&steps, done(json!({"input": deep(65)}))),
            (&steps, done(json!({"agent_id": "*"}))),
            (&steps, done(json!({"agent_id": "system"}))),
            (&steps, done(json!({"ordinal": 1}))),
            (&end, json!({})),
            (&end, json!({"status": "done"})),
            (&end, json!({"status": "cancelled"})),
            (&end, json!({"status": "completed", "reason": "x"})),
            (&end, json!({"status": "completed", "code": "x"})),
            (&end, json!({"status": "failed", "output": 1})),
            (&end, json!({"status": "completed", "output": deep(65)})),
            (&end, json!({"status": "completed", "output": "\u{0}"})),
            (&end, json!({"status": "failed", "reason": "\u{0}"})),
        ];
        for (path, body) in cases {
            let answer = node.post("agent-a", path, body.clone()).await;
            let body: String = body.to_string().chars().take(90).collect();
            assert_eq!((answer.status, answer.code().as_str()), (422, "invalid"), "{path} {body}: {}", answer.body);
        }
        for (path, body, status, code) in [
            (verb("cancel"), json!({"why": "x"}).to_string(), 422, "invalid"),
            (verb("cancel"), json!({"reason": "x".repeat(16 * 1024 + 1)}).to_string(), 422, "invalid"),
            (verb("resume"), json!({"from": 1}).to_string(), 422, "invalid"),
            (steps.clone(), "{".to_owned(), 400, "malformed_json"),
            (steps.clone(), "[]".to_owned(), 422, "invalid"),
            (
                steps.clone(),
                json!({"key": "a", "state": "done", "result": "x".repeat(4 << 20)}).to_string(),
                413,
                "body_too_large",
            ),
            (
                steps.clone(),
                format!(r#"{{"key":"a","state":"done","result":{}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000)),
                400,
                "malformed_json",
            ),
            (steps.clone(), r#"{"key":"a","state":"done","result":1e999}"#.to_owned(), 400, "malformed_json"),
            ("/v1/runs/nobody/cancel".to_owned(), "{}".to_owned(), 404, "unknown_run"),
            ("/v1/runs/%20/cancel".to_owned(), "{}".to_owned(), 404, "unknown_run"),
            ("/v1/runs/%ff/cancel".to_owned(), "{}".to_owned(), 400, "bad_path"),
        ] {
            let answer = http::send(&node.url, "POST", &path, &token("agent-a"), &[], &body).await;
            let body: String = body.chars().take(90).collect();
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path} {body}: {}", answer.body);
        }
        for (path, status, code) in [
            ("/v1/runs?status=over".to_owned(), 400, "bad_query"),
            ("/v1/runs?initiator=agent-b".to_owned(), 400, "bad_query"),
            ("/v1/runs?cursor=zzz".to_owned(), 422, "invalid"),
            (verb("journal?cursor=zzz"), 422, "invalid"),
            (verb("journal?cursor=1~zz"), 422, "invalid"),
            (verb("journal?cursor=1~c3"), 422, "invalid"),
            (verb("journal?cursor=1~%C3%A4"), 422, "invalid"),
            (verb("journal?cursor=99999999999999999999~61"), 422, "invalid"),
            (verb("journal?limit=-1"), 400, "bad_query"),
            (verb("events?after=x"), 400, "bad_query"),
            (verb("events?limit=1001"), 400, "bad_query"),
            (verb("journal?limit=0"), 400, "bad_query"),
            (verb("journal?limit=4000000000"), 400, "bad_query"),
            (verb("wait?timeout_ms=soon"), 400, "bad_query"),
            ("/v1/runs/nobody/journal".to_owned(), 404, "unknown_run"),
            ("/v1/runs/nobody/events".to_owned(), 404, "unknown_run"),
            ("/v1/runs/nobody/wait?timeout_ms=1".to_owned(), 404, "unknown_run"),
        ] {
            let answer = node.get("vera", &path).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}: {}", answer.body);
        }
        for path in [verb("journal?limit=500"), verb("events?limit=1000"), verb("events?after=18446744073709551615")] {
            assert_eq!(node.get("vera", &path).await.status, 200, "{path}");
        }
        assert_eq!(node.log("vera").await, before, "something was written");
    }
}

/// What is as deep as it may be comes back whole, also inside what holds it.
#[tokio::test]
async fn what_is_recorded_comes_back_as_it_was() {
    for nodes in everywhere_with(with_workflows).await {
        let node = nodes.last().unwrap();
        let values = [
            json!(null),
            deep(64),
            json!({"": [1.5, -0.0, 1e300, u64::MAX, "\u{1f600}\u{7f}"]}),
            json!("x".repeat(1 << 20)),
        ];
        for (n, value) in values.into_iter().enumerate() {
            let input = if n == 3 { json!("short") } else { value.clone() };
            let run = node.started(json!({"input": input})).await["id"].as_str().unwrap().to_owned();
            let recorded = node.records(&run, json!({"key": "a", "state": "done", "result": value})).await.json();
            assert_eq!(recorded["result"], value);
            assert_eq!(node.journal_of(&run).await[0]["result"], value);
            node.to_run("agent-a", &run, "end", json!({"status": "completed", "output": value})).await;
            let shown = node.run(&run).await;
            assert_eq!((&shown["input"], &shown["ending"]["output"]), (&input, &value));
        }
    }
}
