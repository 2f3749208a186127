//! What feed and audit say about halts.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};

use super::replay::replay;
use crate::{
    halting::{covered, id},
    node::{Node, everywhere, postgres},
};

#[tokio::test]
async fn halted_and_resumed_are_told_with_the_question_and_its_answer() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let mut feed = Box::pin(last.client("vera").events(None).await.unwrap());
        let question = first.asks("a1", "s1", "EMERGENCY").await;
        first.answers(&question, json!({"go": "on"})).await;
        let mut told = Vec::new();
        while told.len() < 8 {
            let event = tokio::time::timeout(Duration::from_secs(120), feed.next()).await.unwrap().unwrap().unwrap();
            assert_eq!(event.stream, question);
            told.push((event.kind.clone(), serde_json::from_str::<Value>(event.payload.get()).unwrap()));
        }
        let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
        let expected = [
            "question.asked",
            "agent.halted",
            "session.halted",
            "system.halted",
            "question.answered",
            "agent.resumed",
            "session.resumed",
            "system.resumed",
        ];
        assert_eq!(kinds, expected);
        for (kind, payload) in told.iter().filter(|(kind, _)| !kind.starts_with("question.")) {
            assert_eq!(payload["question_id"], question.as_str(), "{kind}");
            assert_eq!((&payload["type"], &payload["asked_by"]), (&json!("EMERGENCY"), &json!("agent-a")));
            assert_eq!((&payload["agent_id"], &payload["session_id"]), (&json!("a1"), &json!("s1")));
            if kind.ends_with(".resumed") {
                // What was answered is its asker's to know, and not everybody's whom the question
                // halted.
                let answer = if kind == "agent.resumed" { json!({"go": "on"}) } else { Value::Null };
                assert_eq!((&payload["answer"], &payload["can_proceed"]), (&answer, &json!(true)), "{kind}");
            } else {
                assert_eq!(payload["answer"], json!(null));
            }
        }
        let halt = first.halts(json!({"scope": "agent", "agent_id": "a1"})).await;
        first.lifts(&halt).await;
        assert_eq!(first.story(&halt).await, ["halt.raised", "agent.halted", "halt.lifted", "agent.resumed"]);
        replay(&first.log("vera").await);
    }
}

#[tokio::test]
async fn only_the_last_release_says_resumed_and_it_says_what_still_covers() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let own = first.asks("a1", "s1", "BLOCKING").await;
        let other = first.asks("a1", "", "BLOCKING").await;
        let session = first.asks("a2", "s1", "APPROVAL").await;
        let system = first.halts(json!({"scope": "all"})).await;
        last.answers(&other, "x").await;
        assert_eq!(first.story(&other).await, ["question.asked", "agent.halted", "question.answered"]);
        last.answers(&own, "x").await;
        let log = first.log("vera").await;
        let resumed = |log: &[Value], stream: &str, kind: &str| {
            let found: Vec<_> = log.iter().filter(|e| e["stream"] == stream && e["type"] == kind).cloned().collect();
            assert_eq!(found.len(), 1, "{kind} of {stream}");
            found[0]["payload"]["can_proceed"].clone()
        };
        assert_eq!(resumed(&log, &own, "agent.resumed"), false, "its session and everyone are still halted");
        last.lifts(&system).await;
        let last_of_a1 = first.asks("a1", "s1", "BLOCKING").await;
        last.answers(&last_of_a1, "x").await;
        let log = first.log("vera").await;
        assert_eq!(resumed(&log, &last_of_a1, "agent.resumed"), false, "its session is still halted");
        last.answers(&session, "approve").await;
        let log = first.log("vera").await;
        assert_eq!(resumed(&log, &session, "session.resumed"), true);
        assert_eq!(resumed(&log, &session, "agent.resumed"), true);
        assert!(replay(&log).0.is_empty());
        first.verifies().await;
    }
}

/// Two nodes, two questions of one agent, answered at the same moment: `resumed` is said once, by
/// whoever was last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_that_answer_at_once_say_resumed_once() {
    let mut both = vec![vec![Node::start().await]];
    if let Some(setting) = postgres().await {
        both.push(vec![Node::with(setting.clone()).await, Node::with(setting).await]);
    }
    for nodes in both {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for (question_type, answer, levels) in [
            ("BLOCKING", "x", &["agent"][..]),
            ("APPROVAL", "approve", &["agent", "session"]),
            ("EMERGENCY", "x", &["agent", "session", "system"]),
        ] {
            for round in 0..50 {
                let agent = format!("{}-{round}", question_type.to_lowercase());
                let (one, two) =
                    tokio::join!(first.asks(&agent, &agent, question_type), last.asks(&agent, &agent, question_type));
                let waiting = if round % 10 == 0 { Some(last.waiting(&agent, &agent, 20_000).await) } else { None };
                tokio::join!(first.answers(&one, answer), last.answers(&two, answer));
                if let Some(waiting) = waiting {
                    assert_eq!(waiting.await.unwrap()["cleared"], true);
                }
            }
            let log = first.log("vera").await;
            for level in levels {
                for word in ["resumed", "halted"] {
                    let kind = format!("{level}.{word}");
                    let said = log.iter().filter(|e| e["type"] == kind && e["payload"]["type"] == question_type);
                    let expected = if word == "resumed" { 50 } else { 100 };
                    assert_eq!(said.count(), expected, "{kind} by {question_type}");
                }
            }
        }
        assert!(replay(&first.log("vera").await).0.is_empty());
        first.verifies().await;
    }
}

#[tokio::test]
async fn agents_follow_their_own_and_what_stops_everyone() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let start = first.log("vera").await.last().unwrap()["position"].as_u64();
        let theirs = first.asks("agent-a", "s1", "APPROVAL").await;
        let plain = first.asks("agent-a", "s1", "CLARIFYING").await;
        let on_theirs = first.halts(json!({"scope": "agent", "agent_id": "agent-a"})).await;
        let on_session = first.halts(json!({"scope": "session", "session_id": "s1"})).await;
        let own = id(&first.post("agent-b", "/v1/questions", json!({"type": "BLOCKING", "text": "?"})).await.json());
        let spoken = first.asks("agent-b", "", "ESCALATION").await;
        let on_own = first.halts(json!({"scope": "agent", "agent_id": "agent-b"})).await;
        let all = first.halts(json!({"scope": "all"})).await;
        covered(&nodes, "agent-b", "", &[&own, &spoken, &on_own, &all]).await;
        for question in [&theirs, &plain, &spoken, &own] {
            first.answers(question, "approve").await;
        }
        for halt in [&on_theirs, &on_session, &all, &on_own] {
            last.lifts(halt).await;
        }
        let expected = [
            (own.as_str(), "question.asked"),
            (&own, "agent.halted"),
            (&spoken, "question.asked"),
            (&spoken, "agent.halted"),
            (&on_own, "halt.raised"),
            (&on_own, "agent.halted"),
            (&all, "system.halted"),
            (&spoken, "question.answered"),
            (&own, "question.answered"),
            (&all, "system.resumed"),
            (&on_own, "halt.lifted"),
            (&on_own, "agent.resumed"),
        ];
        let mut feed = Box::pin(last.client("agent-b").events(start).await.unwrap());
        for (stream, kind) in expected {
            let event = tokio::time::timeout(Duration::from_secs(120), feed.next()).await;
            let event = event.unwrap_or_else(|_| panic!("{kind} did not come")).unwrap().unwrap();
            assert_eq!((event.stream.as_str(), event.kind.as_str()), (stream, kind));
        }
        let seen: Vec<_> = first.log("agent-b").await;
        let seen = seen.iter().filter(|entry| entry["position"].as_u64() > start);
        let seen: Vec<_> = seen.map(|e| (e["stream"].as_str().unwrap(), e["type"].as_str().unwrap())).collect();
        assert_eq!(seen, expected, "and the audit shows the same");
        first.verifies().await;
    }
}
