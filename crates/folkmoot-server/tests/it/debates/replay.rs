//! Replaying a debate over HTTP: the same verdict without any model, or where it differs.

use std::fs;

use serde_json::{Value, json};

use super::{AGENT, ALICE, decide, gates, ok, over, start, waits};
use crate::node::{Node, Setting, everywhere};

async fn replay(node: &Node, id: &str) -> Value {
    ok(node.get(AGENT, &format!("/v1/debates/{id}/replay")).await)
}

#[tokio::test]
async fn a_replay_comes_to_the_same_verdict_on_any_node() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let id = start(first, json!({ "agents": 4 })).await;
        over(first, &id).await;
        let results = ok(first.get(AGENT, &format!("/v1/debates/{id}/results")).await);
        let before = ok(first.get(ALICE, &format!("/v1/runs/{id}/events?limit=500")).await);
        let replayed = replay(last, &id).await;
        assert_eq!(replayed["verdict"], results["verdict"]);
        assert!(replayed["calls"].as_u64().unwrap() > 10, "{replayed:#}");
        let rest = ["id", "status", "same", "fault", "differs", "until", "waiting_at"].map(|name| &replayed[name]);
        assert_eq!(json!(rest), json!([id, "completed", true, null, null, null, null]));
        let after = ok(first.get(ALICE, &format!("/v1/runs/{id}/events?limit=500")).await);
        assert_eq!(before, after, "a replay writes nothing");
    }
}

#[tokio::test]
async fn a_debate_that_waits_or_was_ended_says_where_its_record_ends() {
    let node = Node::start().await;
    let waiting = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let gate = waits(&node, &waiting, "").await;
    let replayed = replay(&node, &waiting).await;
    assert_eq!(
        (&replayed["same"], &replayed["differs"], &replayed["verdict"]),
        (&json!(false), &Value::Null, &Value::Null)
    );
    assert_eq!((&replayed["status"], &replayed["waiting_at"]), (&json!("paused"), &json!(gate)));
    assert!(replayed["until"].is_string(), "{replayed:#}");

    node.send(ALICE, "DELETE", &format!("/v1/debates/{waiting}"), Value::Null).await;
    let replayed = replay(&node, &waiting).await;
    assert_eq!((&replayed["status"], &replayed["same"]), (&json!("cancelled"), &json!(false)));
    assert!(replayed["differs"].is_null() && replayed["until"].is_string(), "{replayed:#}");

    let rejected = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    waits(&node, &rejected, "").await;
    ok(decide(&node, &rejected, "reject", json!({ "reason": "no" })).await);
    over(&node, &rejected).await;
    let replayed = replay(&node, &rejected).await;
    assert_eq!((&replayed["same"], &replayed["fault"]["code"]), (&json!(true), &json!("gate_rejected")));
}

#[tokio::test]
async fn a_debate_that_would_be_asked_otherwise_now_says_at_which_turn() {
    let node = Node::start().await;
    let id = start(&node, json!({ "phases": { "critique": true } })).await;
    over(&node, &id).await;
    assert_eq!(replay(&node, &id).await["same"], true, "with the same prompts it is the same");
    let data = node.stop().await;
    let prompts = tempfile::tempdir().unwrap();
    fs::create_dir(prompts.path().join("debate")).unwrap();
    let turn = include_str!("../../../../folkmoot-llm/prompts/debate/turn.md");
    let changed = turn.replace("Now: criticise", "Now: praise");
    assert_ne!(turn, changed);
    fs::write(prompts.path().join("debate/turn.md"), changed).unwrap();
    let setting = Setting { prompts: Some(prompts.path().to_owned()), ..Setting::default() };
    let node = Node::on(data, setting).await;
    let replayed = replay(&node, &id).await;
    assert_eq!((&replayed["same"], &replayed["differs"]["code"]), (&json!(false), &json!("workflow_changed")));
    let turn = replayed["differs"]["turn"].as_str().unwrap();
    assert!(turn.starts_with("1/critique/"), "{replayed:#}");
    assert!(replayed["differs"]["why"].as_str().unwrap().contains(turn), "{replayed:#}");
}
