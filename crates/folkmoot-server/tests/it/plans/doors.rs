//! Who may do what with a plan, what is refused, and the resource under `/v1/plans`.

use std::time::Duration;

use folkmoot_core::Timeout;
use folkmoot_server::Plans;
use serde_json::json;

use super::*;
use crate::node::Setting;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_planned_is_refused_and_nothing_is_started() {
    let node = Node::start().await;
    for (body, told) in [
        (json!({ "goal": "g", "max_iterations": 0 }), "max_iterations is 0; say 1 to 20"),
        (json!({ "goal": "g", "max_iterations": 21 }), "max_iterations is 21; say 1 to 20"),
        (json!({ "goal": "g", "checkpoint_interval": 0 }), "checkpoint_interval is 0; say 1 to 10"),
        (json!({ "goal": "g", "checkpoint_interval": 11 }), "checkpoint_interval is 11; say 1 to 10"),
    ] {
        for path in ["/api/plan", "/v1/plans"] {
            let answer = node.post(AGENT, path, body.clone()).await;
            assert_eq!(answer.status, 400, "{path} {body}: {answer:?}");
            assert!(answer.body.contains(told), "{answer:?}");
        }
    }
    for body in [
        json!({}),
        json!({ "goal": "" }),
        json!({ "goal": " " }),
        json!({ "goal": 1 }),
        json!({ "goal": "g", "max_iterations": -1 }),
        json!({ "goal": "g", "max_iterations": 2.5 }),
        json!({ "goal": "g", "max_iterations": "6" }),
        json!({ "goal": "g", "auto_approve": true }),
        json!({ "goal": "g", "session_id": "" }),
        json!({ "goal": "x".repeat(16 * 1024 + 1) }),
    ] {
        assert_eq!(refused(&node.post(AGENT, "/api/plan", body.clone()).await).0, 400, "{body}");
    }
    assert_eq!(ok(node.get(ALICE, "/v1/plans").await)["plans"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_plan_and_reviewers_decide() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    let body = json!({ "approval_id": asked["approval_id"], "approval_status": "approved" });
    assert_eq!(refused(&node.post(AGENT, "/api/approve", body.clone()).await), (403, "role_may_not".to_owned()));
    assert_eq!(refused(&node.post("vera", "/api/approve", body.clone()).await), (403, "role_may_not".to_owned()));
    assert_eq!(
        refused(&node.post("agent-b", "/api/approve", body.clone()).await),
        (404, "unknown_approval".to_owned())
    );
    let path = format!("/api/plan/{}", session(&asked));
    assert_eq!(refused(&node.get("agent-b", &path).await), (404, "unknown_session".to_owned()), "not its own");
    assert_eq!(refused(&node.post("vera", "/api/plan", json!({ "goal": "g" })).await).0, 403);
    let unsigned = crate::http::send(&node.url, "POST", "/api/approve", "", &[], &body.to_string()).await;
    assert_eq!(refused(&unsigned), (401, "unauthenticated".to_owned()));
    assert_eq!(
        refused(&say(&node, &asked, "approved", json!({ "reviewer": "bob" })).await),
        (403, "not_you".to_owned())
    );
    // Nobody starts the workflow around its door with gates that are switched off.
    let around = json!({ "workflow": "plan@1", "input": { "goal": "g", "max_iterations": 2, "checkpoint_interval": 1, "asks": false } });
    let run = node.post(AGENT, "/v1/runs", around).await.json();
    let path = format!("/v1/runs/{}/wait?timeout_ms=10000", run["id"].as_str().unwrap());
    let ended = ok(node.get(AGENT, &path).await);
    assert_eq!((&ended["status"], &ended["ending"]["code"]), (&json!("failed"), &json!("invalid_input")), "{ended:#}");
    // The decision is in the log under the name of who made it.
    approve(&node, &asked).await;
    let gates = ok(node.get(ALICE, &format!("/v1/gates?run={}&status=approved", session(&asked))).await);
    assert_eq!(gates["gates"][0]["decision"]["reviewer"], ALICE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_a_resource_too() {
    let node = Node::start().await;
    let body =
        json!({ "goal": "Open a second bakery", "max_iterations": 2, "checkpoint_interval": 1, "session_id": "s1" });
    let started = node.post(AGENT, "/v1/plans", body).await;
    assert_eq!(started.status, 202, "{started:?}");
    assert!(started.head.contains("location: /v1/plans/s1"), "{}", started.head);
    let mut after = String::new();
    for expected in ["proposal_s1", "checkpoint_iter1_s1", "checkpoint_iter2_s1"] {
        let waits = ok(node.get(AGENT, &format!("/v1/plans/s1/wait?timeout_ms=10000{after}")).await);
        assert_eq!((&waits["status"], &waits["approval_id"]), (&json!("awaiting_approval"), &json!(expected)));
        let early = node.get(AGENT, "/v1/plans/s1/export").await;
        match expected {
            "proposal_s1" => assert_eq!((early.status, early.code().as_str()), (409, "plan_not_complete")),
            _ => assert!(early.body.contains("This plan is not complete"), "{early:?}"),
        }
        let gate = waits["waiting_at"].as_str().unwrap();
        ok(node.post(ALICE, &format!("/v1/gates/{gate}/approve"), json!({})).await);
        after = format!("&after={gate}");
    }
    let done = ok(node.get(AGENT, &format!("/v1/plans/s1/wait?timeout_ms=10000{after}")).await);
    assert_eq!((&done["status"], &done["result"]["insights"]), (&json!("complete"), &json!(2)), "{done:#}");
    let markdown = node.get(AGENT, "/v1/plans/s1/export").await;
    assert!(markdown.body.contains("## Executive summary"), "{}", markdown.body);
    let html = node.get(AGENT, "/v1/plans/s1/export?format=html").await;
    assert!(html.head.contains("content-security-policy: sandbox"), "{}", html.head);
    assert!(html.body.contains("<h2>Executive summary</h2>"), "{}", html.body);
    assert_eq!(node.get(AGENT, "/v1/plans/s1/export?format=pdf").await.status, 400);
    assert_eq!(node.get(AGENT, "/v1/plans/s1/entities/nothing").await.code(), "unknown_entity");
    assert_eq!(node.get("agent-b", "/v1/plans/s1").await.code(), "unknown_run");
    // A run that is no plan is none here.
    let run = node.post(AGENT, "/v1/runs", json!({ "title": "other" })).await.json();
    assert_eq!(node.get(AGENT, &format!("/v1/plans/{}", run["id"].as_str().unwrap())).await.code(), "unknown_run");
    node.verifies().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_gates_are_switched_off_they_approve_themselves_and_say_so() {
    let plans = Plans { asks: false, ..Plans::default() };
    let node = Node::with(Setting { plans, ..Setting::default() }).await;
    let done = plan(&node, 4, 2).await;
    assert_eq!((&done["status"], &done["iterations_completed"]), (&json!("complete"), &json!(4)));
    let gates = ok(node.get(ALICE, &format!("/v1/gates?run={}", session(&done))).await);
    let gates = gates["gates"].as_array().unwrap();
    assert_eq!(gates.len(), 3);
    for gate in gates {
        assert_eq!(
            (&gate["type"], &gate["status"], &gate["decision"]["reviewer"]),
            (&json!("auto"), &json!("approved"), &json!("auto"))
        );
        assert_eq!(gate["decision"]["reason"], "approval gates are switched off (APPROVAL_GATES)");
    }
    node.verifies().await;
}

/// A plan that was started while people were asked goes on asking them, whatever the configuration
/// says after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switching_gates_off_opens_none_that_stands() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 1).await;
    let data = node.stop().await;
    let plans = Plans { asks: false, expires_after: Timeout::After(Duration::from_secs(1)) };
    let node = Node::on(data, Setting { plans, ..Setting::default() }).await;
    assert_eq!(ok(node.get(AGENT, &format!("/api/plan/{}", session(&asked))).await), asked);
    let next = approve(&node, &asked).await;
    assert_eq!((&next["status"], &next["iteration"]), (&json!("awaiting_approval"), &json!(1)));
}

#[test]
fn only_a_clear_no_switches_gates_off() {
    let read = |said: &str| {
        let mut config = folkmoot_server::Config::new(folkmoot_server::DataFolder::at("unused"));
        config.read_environment(|name| (name == "APPROVAL_GATES").then(|| said.to_owned())).map(|()| config.plans.asks)
    };
    for no in ["false", "0", "no", "off", "FALSE", " Off "] {
        assert_eq!(read(no), Ok(false), "{no:?}");
    }
    for yes in ["true", "1", "yes", "on", "True"] {
        assert_eq!(read(yes), Ok(true), "{yes:?}");
    }
    for neither in ["", " ", "maybe", "2", "disabled", "fals", "none", "null", "-1"] {
        let error = read(neither).unwrap_err().to_string();
        assert!(error.contains("APPROVAL_GATES") && error.contains("say `true` or `false`"), "{neither:?}: {error}");
    }
}

/// Whoever started a plan can open gates in its run. They are not the plan's, whatever they look
/// like.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_put_another_text_before_the_reviewer() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    let request =
        json!({ "approval_type": "proposal", "goal": "g", "max_iterations": 2, "checkpoint_interval": 2, "number": 1 });
    let forged = json!({
        "run_id": session(&asked), "kind": "proposal", "risk": "low", "summary": "Harmless",
        "artifacts": [
            { "name": "proposal.md", "media_type": "text/markdown", "content": "Harmless" },
            { "name": "request.json", "media_type": "application/json", "content": request.to_string() },
        ],
    });
    let forged = node.opened(forged).await;
    let path = format!("/api/plan/{}", session(&asked));
    assert_eq!(ok(node.get(ALICE, &path).await), asked, "what is shown is the plan's own");
    assert_eq!(approve(&node, &asked).await["iteration"], 2);
    let gate = ok(node.get(ALICE, &format!("/v1/gates/{}", forged["id"].as_str().unwrap())).await);
    assert_eq!(gate["status"], "pending", "what was approved was the plan's own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_is_called_as_another_ones_proposal() {
    let node = Node::start().await;
    let start = |session: &str| json!({ "goal": session, "max_iterations": 2, "session_id": session });
    let first = ok(node.post(AGENT, "/api/plan", start("s")).await);
    let second = ok(say(&node, &first, "adjust_requested", json!({ "feedback": "shorter" })).await);
    let other = ok(node.post("agent-b", "/api/plan", start("s_2")).await);
    assert_ne!(second["approval_id"], other["approval_id"]);
    assert_eq!(session(&approve(&node, &second).await), "s");
    assert_eq!(ok(node.get(ALICE, "/api/plan/s_2").await), other, "the other one still waits");
    let tilde = json!({ "goal": "g", "session_id": "s~2" });
    assert_eq!(refused(&node.post(AGENT, "/api/plan", tilde).await).0, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_in_somebody_elses_session_is_none() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    let input = json!({ "goal": "mine", "max_iterations": 2, "checkpoint_interval": 2 });
    let body = json!({ "workflow": "plan@1", "id": "x2", "session_id": session(&asked), "input": input });
    let run = node.post("agent-b", "/v1/runs", body).await;
    assert_eq!(run.status, 201, "{run:?}");
    let ended = ok(node.get("agent-b", "/v1/runs/x2/wait?timeout_ms=10000").await);
    assert_eq!((&ended["status"], &ended["ending"]["code"]), (&json!("failed"), &json!("invalid_input")), "{ended:#}");
    assert_eq!(node.get("agent-b", "/v1/plans/x2").await.code(), "unknown_run");
}

/// Started while people were asked, and first executed where they are not: they are asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gates_that_are_switched_off_before_it_begins_are_gates() {
    let node = Node::start().await;
    let halt = node.post("root-of-all", "/v1/halts", json!({ "scope": "all", "reason": "wait" })).await.json();
    let body = json!({ "goal": "g", "max_iterations": 2, "session_id": "s" });
    assert_eq!(node.post(AGENT, "/v1/plans", body).await.status, 202);
    let data = node.stop().await;
    let plans = Plans { asks: false, ..Plans::default() };
    let node = Node::on(data, Setting { plans, ..Setting::default() }).await;
    let path = format!("/v1/halts/{}", halt["id"].as_str().unwrap());
    assert_eq!(node.send("root-of-all", "DELETE", &path, json!({})).await.status, 200);
    let asked = ok(node.get(AGENT, "/v1/plans/s/wait?timeout_ms=20000").await);
    assert_eq!(asked["status"], "awaiting_approval", "{asked:#}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_said_in_the_words_of_this_door() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    // A position that the log does not have.
    let path = format!("/api/execute-plan?session_id={}", session(&asked));
    let headers = [("last-event-id", "99999999")];
    let answer = crate::http::send(&node.url, "GET", &path, &crate::node::token(AGENT), &headers, "").await;
    assert_eq!(refused(&answer), (400, "bad_position".to_owned()));
    // Too many to build on, and the same twice.
    for entities in [vec!["a/b"; 33], vec!["a/b"; 2]] {
        let answer = node.post(AGENT, "/api/plan", json!({ "goal": "g", "entities": entities })).await;
        assert!([400, 404].contains(&refused(&answer).0), "{answer:?}");
    }
    let body = json!({ "goal": "g", "provider": "nosuch" });
    let answer = node.post(AGENT, "/v1/plans", body).await;
    assert_eq!((answer.status, answer.body.contains("there is no provider")), (422, true), "{answer:?}");
    // What a form left empty says nothing.
    let next = ok(say(&node, &asked, "approved", json!({ "adjusted_proposal": "", "feedback": "" })).await);
    assert_eq!(next["iteration"], 2);
}
