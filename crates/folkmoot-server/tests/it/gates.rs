//! Gates, verb by verb.

use std::time::Duration;

use folkmoot_api::wire::{OpenGate, WaitMany};
use folkmoot_core::{GateStatus, gate::Choice};
use futures_util::StreamExt;
use serde_json::json;

use crate::{
    http,
    node::{Node, everything, token},
};

#[tokio::test]
async fn an_opened_gate_comes_back_with_all_that_was_sent() {
    let node = Node::start().await;
    let answer = node.post("agent-a", "/v1/gates", everything()).await;
    assert_eq!(answer.status, 201);
    let mut gate = answer.json();
    assert!(gate["id"].as_str().is_some_and(|id| id.starts_with("gate-run-7-merge-")), "{gate}");
    assert!(answer.head.contains(&format!("location: /v1/gates/{}", gate["id"].as_str().unwrap()).to_lowercase()));
    assert_eq!(node.get("agent-a", &format!("/v1/gates/{}", gate["id"].as_str().unwrap())).await.json(), gate);
    for field in ["id", "requested_at", "deadline"] {
        assert!(gate[field].is_string(), "{field} in {gate}");
        gate[field] = json!("…");
    }
    insta::assert_json_snapshot!("opened_gate", gate);
}

#[tokio::test]
async fn an_approved_gate_names_who_when_why_and_about_what() {
    let node = Node::start().await;
    let gate = node.opened(everything()).await;
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    let answer = node.post("alice", &path, json!({"reason": "tested locally", "digest": gate["digest"]})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let decided = answer.json();
    assert_eq!(decided["status"], "approved");
    assert_eq!(decided["outcome"], "proceed");
    let mut decision = decided["decision"].clone();
    assert_eq!(decision["request_id"], gate["id"]);
    assert_eq!(decision["digest"], gate["digest"]);
    assert!(decision["decided_at"].is_string());
    for field in ["request_id", "digest", "decided_at"] {
        decision[field] = json!("…");
    }
    insta::assert_json_snapshot!("decision", decision);
}

#[tokio::test]
async fn a_minimal_gate_needs_only_a_summary() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "May I?\nIt is about lunch."})).await;
    assert_eq!(gate["title"], "May I?");
    assert_eq!(gate["risk"], "medium");
    assert_eq!(gate["on_timeout"], "fail");
    assert_eq!(gate["allowed"], json!(["approve", "reject"]));
}

#[tokio::test]
async fn the_digest_can_be_computed_from_what_is_shown() {
    let node = Node::start().await;
    let gate = node.opened(everything()).await;
    let artifacts: Vec<_> = gate["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|artifact| {
            let sha256 = artifact["digest"].as_str().unwrap().trim_start_matches("sha256:");
            json!({"media_type": artifact["media_type"], "name": artifact["name"], "sha256": sha256})
        })
        .collect();
    // serde_json keeps objects sorted by key, as RFC 8785 wants them.
    let canonical = json!({
        "title": gate["title"], "summary": gate["summary"], "phase": gate["phase"], "kind": gate["kind"],
        "risk": gate["risk"], "allowed": gate["allowed"], "on_timeout": gate["on_timeout"],
        "reviewers": gate["reviewers"], "quorum": gate["quorum"], "artifacts": artifacts,
    });
    let digest = folkmoot_core::Digest::of(canonical.to_string().as_bytes());
    assert_eq!(gate["digest"], digest.to_string());
}

#[tokio::test]
async fn every_word_of_a_decision_arrives() {
    let node = Node::start().await;
    let open = |kind: &'static str| json!({"summary": "a plan", "kind": kind});
    for (kind, verb, body, status) in [
        ("proposal", "approve", json!({}), "approved"),
        ("proposal", "reject", json!({"reason": "no"}), "rejected"),
        ("proposal", "adjust", json!({"feedback": "shorter"}), "adjust_requested"),
        ("checkpoint", "adjust", json!({"edited": "do this instead"}), "adjust_strategy"),
        ("checkpoint", "pause", json!({}), "paused"),
        ("checkpoint", "decide", json!({"decision": "approve"}), "approved"),
        ("custom", "cancel", json!({"reason": "not needed"}), "cancelled"),
    ] {
        let gate = node.opened(open(kind)).await;
        let answer =
            node.post("alice", &format!("/v1/gates/{}/{verb}", gate["id"].as_str().unwrap()), body.clone()).await;
        assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some(status)), "{kind} {verb}");
        if let Some(edited) = body.get("edited") {
            assert_eq!(&answer.json()["decision"]["edited"], edited);
        }
    }
    node.verifies().await;
}

#[tokio::test]
async fn an_amendment_is_a_new_revision_and_voids_the_votes() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "first", "quorum": 2})).await;
    let id = gate["id"].as_str().unwrap();
    let voted = node.post("alice", &format!("/v1/gates/{id}/approve"), json!({})).await.json();
    assert_eq!((voted["status"].as_str(), voted["votes"].as_array().map(Vec::len)), (Some("pending"), Some(1)));
    let patch = json!({"summary": "second"}).to_string();
    let amended = http::send(&node.url, "PATCH", &format!("/v1/gates/{id}"), &token("agent-a"), &[], &patch).await;
    let amended = amended.json();
    assert_eq!((amended["revision"].as_u64(), amended["votes"].as_array().map(Vec::len)), (Some(2), Some(0)));
    assert_ne!(amended["digest"], gate["digest"]);
    assert_eq!(amended["summary"], "second");
    node.verifies().await;
}

#[tokio::test]
async fn two_of_three_pass_the_gate_and_one_person_counts_once() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "quorum": 2, "reviewers": ["alice", "bob", "carol"]})).await;
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    assert_eq!(node.post("alice", &path, json!({})).await.json()["status"], "pending");
    assert_eq!(node.post("alice", &path, json!({})).await.code(), "already_voted");
    let passed = node.post("carol", &path, json!({})).await.json();
    assert_eq!(passed["status"], "approved");
    assert_eq!(passed["decision"]["votes"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn an_override_is_an_admins_and_needs_a_reason() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "quorum": 2, "reviewers": ["alice", "bob"]})).await;
    let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
    assert_eq!(node.post("alice", &path, json!({"force": true, "reason": "now"})).await.code(), "role_may_not");
    assert_eq!(node.post("root-of-all", &path, json!({"force": true})).await.code(), "reason_required");
    let forced = node.post("root-of-all", &path, json!({"force": true, "reason": "the house burns"})).await.json();
    assert_eq!(forced["status"], "approved");
    assert_eq!(forced["decision"]["decision"], "override");
}

#[tokio::test]
async fn an_extension_only_gives_time() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "timeout_ms": 600_000})).await;
    let path = format!("/v1/gates/{}/extend", gate["id"].as_str().unwrap());
    assert_eq!(node.post("alice", &path, json!({"timeout_ms": 1000})).await.code(), "deadline_not_later");
    let extended = node.post("alice", &path, json!({"timeout_ms": 1_200_000})).await.json();
    assert!(extended["deadline"].as_str() > gate["deadline"].as_str());
    assert_eq!(node.post("alice", &path, json!({"timeout_ms": "never"})).await.json()["deadline"], json!(null));
}

#[tokio::test]
async fn lists_put_risk_before_deadline_before_age_and_page_by_cursor() {
    let node = Node::start().await;
    for (name, risk, timeout_ms) in
        [("d", "low", 1_000_000), ("c", "medium", 900_000), ("b", "medium", 800_000), ("a", "critical", 2_000_000)]
    {
        node.opened(json!({"summary": name, "risk": risk, "timeout_ms": timeout_ms})).await;
    }
    let mut seen = Vec::new();
    let mut path = "/v1/gates?status=pending&limit=3".to_owned();
    loop {
        let page = node.get("vera", &path).await.json();
        seen.extend(page["gates"].as_array().unwrap().iter().map(|gate| gate["title"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/gates?status=pending&limit=3&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, ["a", "b", "c", "d"]);
}

#[tokio::test]
async fn agents_see_their_own_gates_and_no_others() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "mine"})).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    assert_eq!(node.get("agent-a", &path).await.status, 200);
    assert_eq!(node.get("agent-b", &path).await.code(), "unknown_gate");
    assert_eq!(node.get("agent-b", &format!("{path}/wait?timeout_ms=1")).await.code(), "unknown_gate");
    assert_eq!(node.post("agent-b", &format!("{path}/cancel"), json!({})).await.code(), "unknown_gate");
    assert_eq!(node.get("agent-b", "/v1/gates").await.json()["gates"], json!([]));
    assert_eq!(node.get("agent-b", "/v1/audit").await.json()["entries"], json!([]));
    assert_eq!(node.get("vera", &path).await.status, 200);
}

#[tokio::test]
async fn asking_twice_with_a_dedupe_key_is_asking_once() {
    let node = Node::start().await;
    let first = node.opened(everything()).await;
    let again = node.post("agent-a", "/v1/gates", everything()).await;
    assert_eq!((again.status, &again.json()["id"]), (200, &first["id"]));
    let mut other = everything();
    other["summary"] = json!("Deploy something else");
    let refused = node.post("agent-a", "/v1/gates", other).await;
    assert_eq!((refused.code().as_str(), &refused.json()["gate"]), ("dedupe_conflict", &first["id"]));
}

#[tokio::test]
async fn one_connection_waits_for_many_gates() {
    let node = Node::start().await;
    let mut ids = Vec::new();
    for n in 0..300 {
        ids.push(node.open(&format!("gate {n}")).await.id);
    }
    let agent = node.client("agent-a");
    let wait = WaitMany { ids: ids.clone(), all: false, timeout_ms: Some(20_000) };
    let waiting = tokio::spawn(async move { agent.wait_gates(&wait).await });
    let gate = node.client("alice").gate(&ids[137]).await.unwrap();
    node.say("alice", &gate, Choice::Approve).await.unwrap();
    let waited = waiting.await.unwrap().unwrap();
    assert_eq!(waited.decided.iter().map(|gate| &gate.id).collect::<Vec<_>>(), [&ids[137]]);
    assert_eq!(waited.pending.len(), 299);

    let mut stream = Box::pin(node.client("agent-a").stream_gates(ids.clone()).await.unwrap());
    let first = tokio::time::timeout(Duration::from_secs(120), stream.next()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.id, ids[137], "a decision that came first is found");
    for id in ids.iter().filter(|id| **id != ids[137]) {
        let gate = node.client("bob").gate(id).await.unwrap();
        node.say("bob", &gate, Choice::Reject).await.unwrap();
    }
    let rest: Vec<_> = stream.map(|gate| gate.unwrap()).collect().await;
    assert_eq!(rest.len(), 299, "each once, and then the stream ends");
    assert!(rest.iter().all(|gate| gate.status == GateStatus::Rejected));
}

#[tokio::test]
async fn an_agent_may_speak_for_another_and_the_log_keeps_both_names() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x", "on_behalf_of": "planner-3"})).await;
    assert_eq!((gate["requested_by"].as_str(), gate["on_behalf_of"].as_str()), (Some("agent-a"), Some("planner-3")));
    let log = node.get("vera", "/v1/audit?limit=1000").await.json();
    let opened =
        log["entries"].as_array().unwrap().iter().find(|entry| entry["type"] == "gate.opened").unwrap().clone();
    assert_eq!((opened["actor"].as_str(), opened["on_behalf_of"].as_str()), (Some("agent-a"), Some("planner-3")));
}

#[tokio::test]
async fn the_client_opens_with_defaults() {
    let node = Node::start().await;
    let gate = OpenGate { summary: "by the client".to_owned(), ..OpenGate::default() };
    let gate = node.client("agent-a").open_gate(&gate, Some("key-1")).await.unwrap();
    assert_eq!(gate.summary.as_deref(), Some("by the client"));
}
