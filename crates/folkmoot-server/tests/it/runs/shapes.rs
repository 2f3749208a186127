//! What goes in and comes out, exactly as the documents show it.

use serde_json::{Value, json};

use super::with_workflows;
use crate::{
    halting::id,
    http::Answer,
    node::{Node, everywhere},
};

fn location(answer: &Answer) -> String {
    let line = answer.head.lines().find(|line| line.starts_with("location: ")).expect("a location");
    line.trim_start_matches("location: ").to_owned()
}

/// Without what differs each time.
fn redacted(mut value: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let differs = ["id", "session_id", "agent_id", "gate_id", "question_id", "run_id"]
                        .contains(&name.as_str())
                        || name.ends_with("_at") && name != "waiting_at"
                        || name == "at"
                        || name.ends_with("_ms");
                    match value {
                        Value::String(text) if differs => *text = "…".to_owned(),
                        Value::Number(_) if differs => *value = json!(0),
                        other => walk(other),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| match item {
                Value::String(text) if text.starts_with("gate-") => *text = "gate-…".to_owned(),
                other => walk(other),
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    walk(&mut value);
    value
}

#[tokio::test]
async fn an_external_run_is_started_with_nothing_but_what_the_design_shows() {
    let node = Node::start().await;
    let body = json!({"kind": "external", "title": "nightly build", "session_id": "nightly"});
    let answer = node.post("agent-a", "/v1/runs", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let run = answer.json();
    assert!(id(&run).starts_with("run-"), "{run}");
    assert_eq!((&run["session_id"], &run["status"]), (&json!("nightly"), &json!("running")));
    assert_eq!(location(&answer), format!("/v1/runs/{}", id(&run)));
    insta::assert_json_snapshot!("started_run", redacted(run.clone()));
    let shown = node.get("agent-a", &location(&answer)).await.json();
    assert_eq!((&shown["input"], &shown["waiting_at"]), (&json!(null), &json!(null)));
    let minimal = node.started(json!({})).await;
    assert_eq!((&minimal["kind"], &minimal["session_id"]), (&json!("external"), &minimal["id"]));
    let named = node.started(json!({"id": "my-run", "input": {"a": [1, null]}})).await;
    assert_eq!(named["id"], "my-run");
    assert_eq!(node.run("my-run").await["input"], json!({"a": [1, null]}));
}

#[tokio::test]
async fn a_run_of_a_workflow_says_where_it_waits_and_what_it_gave() {
    let node = Node::with(with_workflows()).await;
    let limits = json!({"steps_max": 10});
    let body = json!({"kind": "custom", "workflow": "publish@1", "title": "News", "input": "News", "limits": limits});
    let run = id(&node.started(body).await);
    let gate = node.gate_of(&run).await;
    insta::assert_json_snapshot!("parked_run", redacted(node.run(&run).await));
    let waited = node.get("agent-a", &format!("/v1/runs/{run}/wait?timeout_ms=1")).await.json();
    assert_eq!((&waited["status"], &waited["waiting_at"]["gates"]), (&json!("parked"), &json!([gate])));
    assert_eq!(waited.get("input"), None);
    let (url, path) = (node.url.clone(), format!("/v1/runs/{run}/wait?timeout_ms=20000"));
    let waiting = tokio::spawn(async move {
        crate::http::send(&url, "GET", &path, &crate::node::token("agent-a"), &[], "").await.json()
    });
    node.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await;
    let ended = waiting.await.unwrap();
    assert_eq!((&ended["status"], &ended["waiting_at"]), (&json!("completed"), &json!(null)));
    insta::assert_json_snapshot!("completed_run", redacted(node.run(&run).await));
    insta::assert_json_snapshot!("journal", redacted(Value::from(node.journal_of(&run).await)));
    let listed = &node.get("agent-a", "/v1/runs").await.json()["runs"][0];
    assert_eq!((&listed["id"], listed.get("input"), listed.get("waiting_at")), (&json!(run), None, None));
    assert_eq!(listed["ending"].get("output"), None, "lists do not carry what may be megabytes");
}

#[tokio::test]
async fn a_runs_events_are_those_of_its_gates_and_questions_too_as_the_log_shows_them() {
    let node = Node::with(with_workflows()).await;
    let other = node.starts_own().await;
    let run = node.starts("publish@1", json!("x")).await;
    let gate = node.gate_of(&run).await;
    node.post("alice", &format!("/v1/gates/{gate}/reject"), json!({"reason": "no"})).await;
    node.until_is(&run, "failed").await;
    let mut found = Vec::new();
    let mut after = json!(0);
    while !after.is_null() {
        let page = node.get("agent-a", &format!("/v1/runs/{run}/events?limit=3&after={after}")).await.json();
        assert!(page["entries"].as_array().unwrap().len() <= 3);
        found.extend(page["entries"].as_array().unwrap().clone());
        after = page["next"].clone();
    }
    let log = node.get("vera", "/v1/audit?limit=1000").await.json();
    let of_run = |entry: &&Value| entry["stream"] == format!("run:{run}") || entry["stream"] == gate.as_str();
    let expected: Vec<Value> = log["entries"].as_array().unwrap().iter().filter(of_run).cloned().collect();
    assert_eq!(found, expected);
    let kinds = crate::halting::kinds(&found);
    let wanted = ["run.started", "run.claimed", "step.recorded", "step.recorded", "gate.opened", "run.parked"];
    assert_eq!(kinds[..6], wanted, "{kinds:?}");
    assert_eq!(kinds.last().unwrap(), "run.ended");
    assert!(found.iter().all(|entry| !entry["stream"].as_str().unwrap().contains(&other)));
}

#[tokio::test]
async fn lists_page_by_cursor_and_keep_to_what_was_asked_for() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let mut started = Vec::new();
        for n in 0..7 {
            started.push(id(&first.started(json!({"session_id": (["s1", "s2"][n % 2])})).await));
        }
        for run in &started[..3] {
            first.to_run("agent-a", run, "cancel", json!({})).await;
        }
        let pages = |query: &'static str| async move {
            let (mut all, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = last.get("vera", &format!("/v1/runs?limit=2{query}{cursor}")).await.json();
                assert!(page["runs"].as_array().unwrap().len() <= 2);
                all.extend(crate::halting::ids(&page["runs"]));
                match page["next"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => return all,
                }
            }
        };
        let newest_first = |keep: &dyn Fn(usize) -> bool| {
            let kept = started.iter().enumerate().filter(|(n, _)| keep(*n)).map(|(_, id)| id.clone());
            kept.rev().collect::<Vec<_>>()
        };
        assert_eq!(pages("").await, newest_first(&|_| true));
        assert_eq!(pages("&status=cancelled").await, newest_first(&|n| n < 3));
        assert_eq!(pages("&status=running&session=s1").await, newest_first(&|n| n > 2 && n % 2 == 0));
        assert_eq!(pages("&status=stopped").await, Vec::<String>::new());
        assert_eq!(pages("&parent=nobody").await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_journal_is_read_page_by_page_whatever_its_keys_hold() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts_own().await;
        let keys = ["a b", "~", "100%", "ä/ö#1", "x&y=z", "\"quoted\"", "日本"];
        for key in keys {
            assert_eq!(first.records(&run, json!({"key": key, "state": "done", "result": key})).await.status, 201);
        }
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = last.get("vera", &format!("/v1/runs/{run}/journal?limit=2{cursor}")).await.json();
            let entries = page["entries"].as_array().unwrap();
            assert!(entries.len() <= 2);
            found.extend(entries.iter().map(|entry| (entry["key"].clone(), entry["result"].clone())));
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, keys.map(|key| (json!(key), json!(key))));
    }
}
