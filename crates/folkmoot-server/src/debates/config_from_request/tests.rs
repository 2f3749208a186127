#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;

use folkmoot_api::wire::StartDebate;
use serde_json::{Value, json};

use super::*;

/// A topic that names a language, so that each of the two can be said to be wrong.
const TOPIC: &str = "Write a parser in Python, and say why it is right";

fn asked(with: Value) -> DebateConfig {
    let mut body = json!({ "topic": TOPIC });
    for (key, value) in with.as_object().unwrap() {
        body[key] = value.clone();
    }
    debating(serde_json::from_value(body).unwrap()).unwrap()
}

/// One value for each field, other than what is usual.
fn otherwise() -> Value {
    json!({
        "agents": 7, "preset": "quick", "topology": "tree", "planning": "dpde", "voting": "condorcet",
        "voting_fallback": "ranked_pairs", "tie_break": "none", "minimum_votes": 2, "max_rounds": 7,
        "min_consensus": 0.29, "phases": { "review": false }, "early_exit": false, "early_agreement": true, "answers": 2,
        "max_parallel": 3, "language": "rust", "clarification_rounds": 2, "instructor": "person",
        "self_evolvement_iterations": 1, "reflexion_attempts": 1, "adversarial_rounds": 1, "tool_calls_max": 1,
        "lessons": false, "gates": { "enabled": true, "gate_points": ["review"] }, "provider": "rehearsal",
        "budget": { "tokens": 10 }, "max_tokens": 99, "reflections_max": 2, "repository": "/somewhere", "hooks": ["post_proposal"],
    })
}

/// What a debate is called, its session and its time are its run's; everything else is in what its
/// workflow is given.
#[test]
fn every_field_reaches_the_workflow() {
    let document = serde_json::to_value(<StartDebate as utoipa::PartialSchema>::schema()).unwrap();
    let mut fields: BTreeSet<&str> = document["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    for of_the_run in ["topic", "id", "session_id", "timeout_ms"] {
        assert!(fields.remove(of_the_run));
    }
    let otherwise = otherwise();
    let tried: BTreeSet<&str> = otherwise.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, tried, "each field has its line in `otherwise`");
    let usual = asked(json!({}));
    let mut seen = vec![usual.clone()];
    for (field, value) in otherwise.as_object().unwrap() {
        let changed = asked(json!({ field: value }));
        assert!(!seen.contains(&changed), "{field} changes nothing, or what another one changes");
        seen.push(changed);
    }
    let other = DebateConfig { topic: TOPIC.to_owned(), ..asked(otherwise) };
    assert_eq!(
        (other.min_consensus.as_hundredths(), other.max_rounds, other.answers, other.agents.agents().len()),
        (29, 7, 2, 7)
    );
}

#[test]
fn each_field_of_an_agent_and_of_the_gates_reaches_the_workflow_too() {
    let agent = |with: Value| {
        let mut agent = json!({ "id": "a", "role": "critic" });
        agent.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        asked(json!({ "agents": [agent] })).agents
    };
    let usual = agent(json!({}));
    for with in [
        json!({ "id": "b" }),
        json!({ "role": "judge" }),
        json!({ "provider": "rehearsal" }),
        json!({ "provider": "rehearsal", "model": "m" }),
        json!({ "domain": "security" }),
        json!({ "score": 7.1 }),
    ] {
        assert_ne!(agent(with.clone()), usual, "{with}");
    }
    assert_ne!(agent(json!({ "provider": "p" })), agent(json!({ "provider": "p", "model": "m" })));
    let gates = |with: Value| {
        let mut gates = json!({ "enabled": true, "gate_points": ["proposal"] });
        gates.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        asked(json!({ "gates": gates })).gates
    };
    let usual = gates(json!({}));
    for with in [
        json!({ "enabled": false }),
        json!({ "gate_points": ["review"] }),
        json!({ "timeout_ms": 5 }),
        json!({ "timeout_ms": "never" }),
        json!({ "on_timeout": "escalate" }),
        json!({ "on_rejected": "retry" }),
        json!({ "notification_channels": ["c"] }),
        json!({ "reviewers": ["alice"] }),
    ] {
        assert_ne!(gates(with.clone()), usual, "{with}");
    }
}

#[test]
fn a_share_is_taken_to_the_hundredth_and_no_further() {
    for hundredths in 0..=100_u8 {
        let said: f64 = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
        assert_eq!(asked(json!({ "min_consensus": said })).min_consensus.as_hundredths(), hundredths);
    }
    for wrong in [-0.01, 1.01, 0.005, 0.123, 1e300, -1e300] {
        let body = serde_json::from_value(json!({ "topic": TOPIC, "min_consensus": wrong })).unwrap();
        assert!(debating(body).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_automatic_is_what_fits() {
    assert_eq!(asked(json!({ "topology": "auto", "agents": 3 })).topology, Topology::Chain);
    assert_eq!(asked(json!({ "topology": "auto", "agents": 6, "max_parallel": 2 })).topology, Topology::Star);
    assert_eq!(asked(json!({ "topology": "auto", "agents": 6 })).topology, Topology::GraphMesh);
    assert_eq!(asked(json!({ "planning": "auto" })).planning, Style::Adaptive);
    assert_eq!(asked(json!({ "voting": "auto" })).voting, None);
    // Whoever writes no code needs no tools; whoever does has them, also where the topic does not
    // say so.
    assert_eq!(asked(json!({ "language": "none" })).tool_calls_max, 0);
    assert!(asked(json!({ "language": "go" })).tool_calls_max > 0);
}
