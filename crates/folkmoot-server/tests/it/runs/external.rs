//! The life of a run that somebody else's agent executes.

use serde_json::json;

use super::lines;
use crate::{
    halting::id,
    node::{Node, everywhere},
};

#[tokio::test]
async fn an_agent_does_each_step_once_and_says_how_it_ended() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts_own().await;
        let begin =
            json!({"key": "build", "kind": "once", "state": "begun", "input": {"rev": 7}, "agent_id": "builder"});
        let begun = first.records(&run, begin.clone()).await;
        assert_eq!((begun.status, &begun.json()["state"]), (201, &json!("begun")), "do it: {begun:?}");
        let unknown = last.records(&run, begin.clone()).await;
        assert_eq!((unknown.status, &unknown.json()["state"]), (200, &json!("begun")), "nobody knows: {unknown:?}");
        let done =
            json!({"key": "build", "kind": "once", "state": "done", "result": {"artifact": "a.tar", "ok": true}});
        let recorded = last.records(&run, done.clone()).await;
        assert_eq!(recorded.status, 201);
        let entry = recorded.json();
        assert_eq!((&entry["result"]["artifact"], &entry["agent_id"]), (&json!("a.tar"), &json!("builder")));
        assert!(entry["duration_ms"].is_u64(), "{entry}");
        for again in [&begin, &done] {
            let stands = first.records(&run, again.clone()).await;
            assert_eq!((stands.status, &stands.json()["result"]), (200, &entry["result"]), "it need not be done");
        }
        let other = json!({"key": "build", "kind": "once", "state": "done", "result": "another"});
        assert_eq!(first.records(&run, other).await.code(), "step_recorded");
        let changed = json!({"key": "build", "state": "begun"});
        assert_eq!(first.records(&run, changed).await.code(), "step_differs");
        let changed = json!({"key": "build", "kind": "once", "state": "begun", "input": {"rev": 8}});
        assert_eq!(first.records(&run, changed).await.code(), "step_differs");

        let failed = json!({"key": "test", "state": "failed", "error": {"message": "2 of 7 fail"}});
        assert_eq!(first.records(&run, failed).await.status, 201);
        let stands = first.records(&run, json!({"key": "test", "state": "begun"})).await;
        let error = json!({"code": "failed", "message": "2 of 7 fail"});
        assert_eq!((stands.status, &stands.json()["error"]), (200, &error));
        assert_eq!(lines(&last.journal_of(&run).await), ["build once done", "test step failed"]);

        let ended =
            last.to_run("agent-a", &run, "end", json!({"status": "completed", "output": [1, {"b": null}]})).await;
        assert_eq!((ended.status, &ended.json()["status"]), (200, &json!("completed")));
        let shown = first.run(&run).await;
        assert_eq!(shown["ending"]["output"], json!([1, {"b": null}]));
        assert_eq!((&shown["ending"]["by"], &shown["steps"]), (&json!("agent-a"), &json!(2)));
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_run_that_failed_says_why() {
    let node = Node::start().await;
    let run = node.starts_own().await;
    let end = json!({"status": "failed", "code": "no_disk", "reason": "the disk is full"});
    let ended = node.to_run("agent-a", &run, "end", end).await.json();
    assert_eq!((&ended["status"], &ended["ending"]["code"]), (&json!("failed"), &json!("no_disk")));
    assert_eq!(ended["ending"]["reason"], "the disk is full");
    let usual = node.starts_own().await;
    let ended = node.to_run("agent-a", &usual, "end", json!({"status": "failed"})).await.json();
    assert_eq!(ended["ending"]["code"], "failed");
}

#[tokio::test]
async fn a_run_that_is_over_takes_nothing() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts_own().await;
        first.records(&run, json!({"key": "open", "state": "begun"})).await;
        let open = first.to_run("agent-a", &run, "end", json!({"status": "completed"})).await;
        assert_eq!((open.status, open.code().as_str()), (409, "steps_open"));
        assert_eq!(first.to_run("agent-a", &run, "end", json!({"status": "failed"})).await.status, 200);
        assert_eq!(last.to_run("agent-a", &run, "end", json!({"status": "failed"})).await.status, 200, "as it was");
        for (verb, body) in [
            ("steps", json!({"key": "open", "state": "done"})),
            ("steps", json!({"key": "new", "state": "begun"})),
            ("end", json!({"status": "completed"})),
            ("cancel", json!({})),
            ("resume", json!({})),
        ] {
            let answer = last.to_run("agent-a", &run, verb, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (409, "run_ended"), "{verb}");
        }
        let gate = last.post("agent-a", "/v1/gates", json!({"summary": "late", "run_id": run})).await;
        assert_eq!((gate.status, gate.code().as_str()), (409, "run_ended"));
        let question = json!({"type": "ALERT", "text": "late", "run_id": run});
        let question = last.post("agent-a", "/v1/questions", question).await;
        assert_eq!((question.status, question.code().as_str()), (409, "run_ended"));
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_gate_starts_the_run_that_it_names_and_cancelling_that_closes_all_that_is_open_of_it() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let gate = id(&first.opened(json!({"summary": "may I?", "run_id": "r-1", "session_id": "s-1"})).await);
        let run = last.run("r-1").await;
        assert_eq!(
            (&run["kind"], &run["session_id"], &run["status"]),
            (&json!("external"), &json!("s-1"), &json!("running"))
        );
        assert_eq!(run["waiting_at"]["gates"], json!([gate]));
        let question = json!({"type": "BLOCKING", "text": "which?", "run_id": "r-1"});
        let question = first.asked(question).await;
        assert_eq!((&question["run_id"], &question["session_id"]), (&json!("r-1"), &json!("s-1")));
        let question = id(&question);
        assert_eq!(last.run("r-1").await["waiting_at"]["questions"], json!([question]));
        assert_eq!(last.records("r-1", json!({"key": "a", "state": "done"})).await.code(), "halted");
        let cancelled = last.to_run("alice", "r-1", "cancel", json!({"reason": "enough"})).await;
        assert_eq!((cancelled.status, &cancelled.json()["status"]), (200, &json!("cancelled")));
        let shown = first.run("r-1").await;
        assert_eq!((&shown["ending"]["reason"], &shown["ending"]["by"]), (&json!("enough"), &json!("alice")));
        assert_eq!(shown["waiting_at"], json!(null));
        assert_eq!(first.get("vera", &format!("/v1/gates/{gate}")).await.json()["status"], "cancelled");
        assert_eq!(first.question("vera", &question).await["status"], "cancelled");
        crate::halting::settles(&nodes, "agent-a", "s-1", true).await;
        first.verifies().await;
    }
}

#[tokio::test]
async fn limits_hold() {
    let node = Node::start().await;
    let run = id(&node.started(json!({"limits": {"steps_max": 1}})).await);
    assert_eq!(node.records(&run, json!({"key": "1", "state": "done"})).await.status, 201);
    let over = node.records(&run, json!({"key": "2", "state": "begun"})).await;
    assert_eq!((over.status, over.code().as_str()), (409, "limit_exceeded"));
    let run = id(&node.started(json!({"limits": {"journal_bytes_max": 10}})).await);
    let over = node.records(&run, json!({"key": "1", "state": "done", "result": "0123456789"})).await;
    assert_eq!((over.status, over.code().as_str()), (409, "limit_exceeded"));
}

#[tokio::test]
async fn whoever_is_halted_begins_nothing_and_whoever_looked_says_what_became_of_a_step() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts_own().await;
        let begin = |key: &str| json!({"key": key, "kind": "once", "state": "begun"});
        assert_eq!(first.records(&run, begin("ship")).await.status, 201);
        let halt = json!({"scope": "session", "session_id": run, "reason": "look first"});
        let halt = id(&first.post("root-of-all", "/v1/halts", halt).await.json());
        let halted = last.records(&run, begin("next")).await;
        assert_eq!((halted.status, halted.code().as_str()), (409, "halted"));
        // What was begun before the halt can still be told.
        let done = json!({"key": "ship", "kind": "once", "state": "done", "result": "shipped"});
        let told = last.to_run("alice", &run, "steps", done).await;
        assert_eq!((told.status, &told.json()["result"]), (201, &json!("shipped")));
        assert_eq!(first.delete("root-of-all", &format!("/v1/halts/{halt}")).await.status, 200);
        assert_eq!(last.records(&run, begin("next")).await.status, 201);
        first.verifies().await;
    }
}

#[tokio::test]
async fn whoever_starts_the_same_again_finds_the_run() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"id": "deploy-7", "title": "Deploy 7"});
        let started = first.post("agent-a", "/v1/runs", body.clone()).await;
        let found = last.post("agent-a", "/v1/runs", body.clone()).await;
        assert_eq!((started.status, found.status), (201, 200));
        assert_eq!(started.json()["started_at"], found.json()["started_at"]);
        let other = json!({"id": "deploy-7", "title": "Deploy 8"});
        for (who, body) in [("agent-a", other), ("agent-b", body)] {
            let refused = last.post(who, "/v1/runs", body).await;
            assert_eq!((refused.status, refused.code().as_str()), (409, "run_exists"));
        }
    }
}
