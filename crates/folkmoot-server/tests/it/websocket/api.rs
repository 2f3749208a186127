//! The frames of `/api/ws`.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::Socket;
use crate::{
    http,
    node::{Node, everything, everywhere, token},
};

#[tokio::test]
async fn a_gate_is_required_and_then_resolved_in_the_seeds_frames() {
    for nodes in everywhere().await {
        required_and_resolved(nodes.first().unwrap(), nodes.last().unwrap()).await;
    }
}

/// Asked and decided at one server, and heard of at another, where there are two.
async fn required_and_resolved(node: &Node, elsewhere: &Node) {
    let mut socket = Socket::open(elsewhere, "vera", "/api/ws?after=0").await;
    // Such a front end may say something first; it hears of everything anyway.
    socket.send(Message::text(r#"{"type":"subscribe","task_id":"*"}"#)).await;
    let run = json!({"kind": "external", "id": "run-7", "session_id": "session-3", "title": "Add user authentication"});
    assert_eq!(node.post("agent-a", "/v1/runs", run).await.status, 201);
    let gate = node.opened(everything()).await;
    let frame = socket.frame().await;
    let expected = json!({
        "type": "event", "event_type": "decision_required", "position": frame["position"],
        "data": {
            "decision_id": gate["id"], "task_id": "run-7", "task_title": "Add user authentication", "phase": "merge",
            "gate_type": "human", "question": "Deploy 1.4.2", "context": "Deploy 1.4.2 to production",
            "requested_at": gate["requested_at"],
        }
    });
    assert_eq!(frame, expected);
    let id = gate["id"].as_str().unwrap();
    let (path, body) = (format!("/v1/gates/{id}"), json!({"summary": "Deploy 1.4.3 to production"}).to_string());
    assert_eq!(http::send(&node.url, "PATCH", &path, &token("agent-a"), &[], &body).await.status, 200);
    let frame = socket.frame().await;
    assert_eq!(frame["event_type"], "decision_required");
    assert_eq!(frame["data"]["context"], "Deploy 1.4.3 to production");
    let digest = node.get("alice", &path).await.json()["digest"].clone();
    let verdict = json!({"reason": "not today", "digest": digest});
    let decided = node.post("alice", &format!("/v1/gates/{id}/reject"), verdict).await.json();
    let frame = socket.frame().await;
    let expected = json!({
        "type": "event", "event_type": "decision_resolved", "position": frame["position"],
        "data": {
            "decision_id": id, "task_id": "run-7", "phase": "merge", "approved": false, "reason": "not today",
            "resolved_by": "alice", "resolved_at": decided["decision"]["decided_at"],
        }
    });
    assert_eq!(frame, expected);
    // Coming back with a frame's position, what came after it is told again and nothing else.
    let before = frame["position"].as_u64().unwrap() - 1;
    let mut back = Socket::open(elsewhere, "vera", &format!("/api/ws?after={before}")).await;
    assert_eq!(back.frame().await, expected);
}

#[tokio::test]
async fn an_agent_is_told_of_its_own_gates_and_a_gate_without_run_belongs_to_its_session() {
    for nodes in everywhere().await {
        let node = nodes.first().unwrap();
        let mut theirs = Socket::open(nodes.last().unwrap(), "agent-b", "/api/ws?after=0").await;
        node.open("agent-a's").await;
        let own = node.post("agent-b", "/v1/gates", json!({"summary": "mine", "session_id": "s9"})).await.json();
        let frame = theirs.frame().await;
        assert_eq!((&frame["data"]["decision_id"], &frame["data"]["task_id"]), (&own["id"], &json!("s9")));
        assert_eq!((&frame["data"]["task_title"], &frame["data"]["question"]), (&json!("mine"), &json!("mine")));
        node.post("alice", &format!("/v1/gates/{}/approve", own["id"].as_str().unwrap()), json!({})).await;
        let frame = theirs.frame().await;
        assert_eq!((&frame["event_type"], &frame["data"]["approved"]), (&json!("decision_resolved"), &json!(true)));
    }
}
