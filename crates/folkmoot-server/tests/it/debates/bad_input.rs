//! What cannot be debated is refused in words, and nothing is started.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_debated_is_refused_and_nothing_is_started() {
    let node = Node::start().await;
    let agent = |id: &str, role: &str| json!({ "id": id, "role": role });
    for (with, told) in [
        (json!({ "topic": "" }), "topic"),
        (json!({ "topic": "  \n " }), "topic"),
        (json!({ "topic": "x".repeat(64 * 1024 + 1) }), "topic"),
        (json!({ "topic": 7 }), "expected a string"),
        (json!({ "agents": 0 }), "a team of 0 agents"),
        (json!({ "agents": 26 }), "a team of 26 agents"),
        (json!({ "agents": -1 }), "a number of agents, or a list of them"),
        (json!({ "agents": 2.5 }), "a number of agents, or a list of them"),
        (json!({ "agents": "five" }), "a number of agents, or a list of them"),
        (json!({ "agents": [] }), "a team of 0 agents"),
        (json!({ "agents": [agent("a", "wizard")] }), "\"wizard\" is not one of proposer"),
        (json!({ "agents": [agent("a", "critic"), agent("a", "judge")] }), "two agents have the id a"),
        (json!({ "agents": [{ "id": "a", "role": "critic", "name": "A" }] }), "unknown field `name`"),
        (json!({ "agents": [{ "id": "a", "role": "critic", "model": "m" }] }), "no `provider`"),
        (json!({ "agents": [{ "id": "a", "role": "critic", "provider": "nobody" }] }), "nobody"),
        (json!({ "agents": [{ "id": "a", "role": "critic", "score": 10.1 }] }), "score 10.1"),
        (json!({ "preset": "heroic" }), "\"heroic\" is not one of full, economy, quick"),
        (json!({ "topology": "ring" }), "\"ring\" is not one of graph_mesh, star, chain, tree, auto"),
        (json!({ "planning": "chaos" }), "\"chaos\" is not one of cpde, dpde, adaptive, auto"),
        (json!({ "voting": "acclaim" }), "\"acclaim\" is not one of majority"),
        (json!({ "voting_fallback": "coin" }), "\"coin\" is not one of borda"),
        (json!({ "tie_break": "random" }), "\"random\" is not one of highest_confidence"),
        (json!({ "minimum_votes": 0 }), "minimum_votes is 0"),
        (json!({ "agents": 2, "minimum_votes": 3 }), "minimum_votes is 3, and 2 agents vote"),
        (json!({ "max_rounds": 0 }), "max_rounds is 0; ask for 1 to 10"),
        (json!({ "max_rounds": 11 }), "max_rounds is 11; ask for 1 to 10"),
        (json!({ "min_consensus": 1.01 }), "min_consensus is 1.01; say 0 to 1"),
        (json!({ "min_consensus": -0.01 }), "min_consensus is -0.01; say 0 to 1"),
        (json!({ "min_consensus": 0.755 }), "in hundredths"),
        (json!({ "min_consensus": "most" }), "expected f64"),
        (json!({ "phases": { "cremation": true } }), "\"cremation\" is not one of dehallucination"),
        (json!({ "phases": { "review": "maybe" } }), "true, false or \"auto\""),
        (json!({ "phases": { "review": 1 } }), "true, false or \"auto\""),
        (json!({ "phases": { "proposal": false } }), "leave nobody who answers"),
        (json!({ "preset": "full", "phases": { "proposal": false } }), "leave nobody who answers"),
        (json!({ "budget": { "tokens": 0 } }), "budget is 0"),
        (json!({ "answers": 0 }), "answers is 0"),
        (json!({ "max_parallel": 0 }), "max_parallel is 0"),
        (json!({ "language": "cobol" }), "\"cobol\" is not one of python"),
        (json!({ "clarification_rounds": 11 }), "clarification_rounds is 11"),
        (json!({ "instructor": "oracle" }), "\"oracle\" is not one of agent, person"),
        (json!({ "self_evolvement_iterations": 11 }), "self_evolvement_iterations is 11"),
        (json!({ "reflexion_attempts": 0 }), "reflexion_attempts is 0"),
        (json!({ "adversarial_rounds": 0 }), "adversarial_rounds is 0"),
        (json!({ "tool_calls_max": 33 }), "tool_calls_max is 33"),
        (json!({ "gates": gates(&["lunch"]) }), "\"lunch\" is not one of dehallucination"),
        (json!({ "gates": gates(&["adversarial"]) }), "which this debate does not have"),
        (json!({ "gates": { "gate_points": ["proposal"] } }), "is not enabled"),
        (json!({ "gates": { "enabled": true, "auto": true } }), "unknown field `auto`"),
        (json!({ "gates": { "enabled": true, "timeout_ms": 0 } }), "milliseconds above zero"),
        (json!({ "gates": { "enabled": true, "on_timeout": "shrug" } }), "\"shrug\" is not one of fail"),
        (
            json!({ "gates": { "enabled": true, "on_rejected": "sulk" } }),
            "\"sulk\" is not one of fail, retry, continue",
        ),
        (
            json!({ "gates": { "enabled": true, "gate_points": ["proposal"], "notification_channels": vec!["c"; 17] } }),
            "17 channels",
        ),
        (
            json!({ "gates": { "enabled": true, "gate_points": ["proposal"], "notification_channels": ["nobody"] } }),
            "neither a channel of the configuration nor a webhook",
        ),
        (json!({ "gates": { "enabled": true } }), "nobody would be asked"),
        (json!({ "gates": { "enabled": true, "gate_points": [] } }), "nobody would be asked"),
        (json!({ "gates": [true] }), "an object"),
        (json!({ "provider": "nobody" }), "nobody"),
        (json!({ "budget": { "tokens": 10, "euros": 1 } }), "unknown field `euros`"),
        (json!({ "budget": { "usd": -1 } }), "budget"),
        (json!({ "timeout_ms": 0 }), "timeout_ms is 0"),
        (json!({ "hooks": ["post_lunch"], "language": "python" }), "\"post_lunch\" is not one of post_proposal"),
        (json!({ "hooks": ["post_proposal"], "language": "python" }), "say in which `repository`"),
        (json!({ "id": "" }), "id"),
        (json!({ "session_id": "" }), "session"),
        (json!({ "winner": "me" }), "unknown field `winner`"),
    ] {
        let mut body = json!({ "topic": TOPIC, "preset": "quick" });
        for (key, value) in with.as_object().unwrap() {
            body[key] = value.clone();
        }
        let answer = node.post(AGENT, "/v1/debates", body).await;
        assert_eq!(answer.status, 422, "{with}: {answer:?}");
        refused(&answer);
        let detail = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(told), "{with}: {detail}");
    }
    let huge = node.post(AGENT, "/v1/debates", json!({ "topic": "x".repeat(10 << 20) })).await;
    assert_eq!(refused(&huge), (413, "body_too_large".to_owned()));
    assert_eq!(refused(&node.post(AGENT, "/v1/debates", json!({})).await).0, 422);
    assert_eq!(ok(node.get(ALICE, "/v1/debates").await)["debates"], json!([]));
    assert_eq!(ok(node.get(ALICE, "/v1/runs").await)["runs"], json!([]), "nothing was started");
    // A control: but for what was wrong with it, it is taken.
    start(&node, json!({ "agents": 2, "minimum_votes": 2, "min_consensus": 0.75 })).await;
}

/// The source chose `unanimous` for two agents, which its minimum of three votes then refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_agents_come_to_a_verdict_by_every_method() {
    let node = Node::start().await;
    let methods = ["auto", "majority", "weighted", "plurality", "unanimous", "borda", "condorcet"];
    let mut debates = Vec::new();
    for method in methods {
        debates.push((method, start(&node, json!({ "agents": 2, "voting": method, "max_rounds": 1 })).await));
    }
    for (method, id) in debates {
        let debate = over(&node, &id).await;
        assert_eq!(debate["status"], "completed", "{method}: {debate:#}");
        let verdict = ok(node.get(AGENT, &format!("/v1/debates/{id}/results")).await)["verdict"].clone();
        assert!(verdict["winner"].is_string() || verdict["no_decision"].is_string(), "{method}: {verdict:#}");
        let expected = if method == "auto" { "unanimous" } else { method };
        assert_eq!(verdict["voting_method"], expected, "{verdict:#}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_asked_of_a_debate_must_be_right_too() {
    let node = Node::start().await;
    let id = start(&node, json!({})).await;
    over(&node, &id).await;
    for path in [
        "/v1/debates?status=asleep",
        "/v1/debates?limit=0",
        "/v1/debates?limit=201",
        "/v1/debates?who=me",
        &format!("/v1/debates/{id}/turns?phase=lunch"),
        &format!("/v1/debates/{id}/turns?round=x"),
        &format!("/v1/debates/{id}/audit?type=gossip"),
        &format!("/v1/debates/{id}/gates?status=ajar"),
    ] {
        assert_eq!(refused(&node.get(AGENT, path).await), (400, "bad_query".to_owned()), "{path}");
    }
    for path in ["turns", "code-versions", "audit"] {
        let answer = node.get(AGENT, &format!("/v1/debates/{id}/{path}?cursor=here")).await;
        assert_eq!(refused(&answer), (422, "invalid".to_owned()), "{path}");
    }
    for path in ["", "/status", "/results", "/turns", "/votes", "/code-versions", "/audit", "/gates", "/events"] {
        for unknown in ["nothing", "%20", &"x".repeat(200)] {
            let answer = node.get(ALICE, &format!("/v1/debates/{unknown}{path}")).await;
            assert_eq!(refused(&answer), (404, "unknown_run".to_owned()), "{unknown}{path}");
        }
    }
    // A run that is no debate is none here.
    let run = node.post(AGENT, "/v1/runs", json!({ "title": "other" })).await.json();
    let run = run["id"].as_str().unwrap();
    for path in ["", "/status", "/results", "/turns", "/votes", "/code-versions", "/audit", "/gates", "/events"] {
        assert_eq!(node.get(ALICE, &format!("/v1/debates/{run}{path}")).await.code(), "unknown_run", "{path}");
    }
    assert_eq!(node.send(ALICE, "DELETE", &format!("/v1/debates/{run}"), json!({})).await.code(), "unknown_run");
}
