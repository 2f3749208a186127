//! The planner API's response formats: four phases, three error scenarios, to the key.

use std::time::Duration;

use folkmoot_core::Timeout;
use folkmoot_server::Plans;
use serde_json::{Value, json};

use super::*;
use crate::node::{Setting, everywhere};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// As the planner API writes them, and the request once more under `approval_request`.
fn has_exactly(value: &Value, expected: &str) {
    let mut expected: Vec<&str> = expected.split_whitespace().collect();
    expected.sort_unstable();
    assert_eq!(keys(value), expected, "{value:#}");
}

const REQUEST: &str = "status approval_type approval_id proposal goal estimated_iterations checkpoint_interval \
    checkpoint_summary iteration total_iterations insights timestamp session_id";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_four_phases_have_the_seeds_formats() {
    for nodes in everywhere().await {
        let (node, other) = (&nodes[0], nodes.last().unwrap());
        let asked = plan(node, 3, 2).await;
        has_exactly(
            &asked,
            "status approval_type approval_id proposal goal estimated_iterations checkpoint_interval session_id timestamp \
             next_action approval_request",
        );
        has_exactly(&asked["approval_request"], REQUEST);
        assert_eq!(asked["status"], "awaiting_approval");
        assert_eq!(asked["approval_type"], "proposal");
        assert_eq!(asked["approval_id"], format!("proposal_{}", session(&asked)));
        assert_eq!((&asked["estimated_iterations"], &asked["checkpoint_interval"]), (&json!(3), &json!(2)));
        assert_eq!(asked["goal"], "Open a second bakery");
        assert_eq!(asked["next_action"], "POST to /api/approve with ApprovalResponse");
        assert_eq!(asked["proposal"], asked["approval_request"]["proposal"]);

        // Decided on another node, where there is one.
        let asked = approve(other, &asked).await;
        has_exactly(
            &asked,
            "status approval_type approval_id iteration total_iterations checkpoint_summary insights frameworks_evolved \
             data_points_collected session_id timestamp next_action approval_request",
        );
        assert_eq!(asked["approval_type"], "checkpoint");
        assert_eq!((&asked["iteration"], &asked["total_iterations"]), (&json!(2), &json!(3)));
        assert_eq!(asked["insights"].as_array().unwrap().len(), 2);
        assert_eq!((&asked["frameworks_evolved"], &asked["data_points_collected"]), (&json!(2), &json!(2)));
        assert_eq!(
            ok(other.get(ALICE, &format!("/api/plan/{}", session(&asked))).await),
            asked,
            "asked again, the same"
        );

        let asked = approve(node, &asked).await;
        assert_eq!(asked["iteration"], 3);
        let done = approve(node, &asked).await;
        has_exactly(
            &done,
            "status session_id iterations_completed total_iterations final_plan plan_saved_to_memory memory_entities timestamp",
        );
        assert_eq!((&done["iterations_completed"], &done["total_iterations"]), (&json!(3), &json!(3)));
        assert_eq!(done["plan_saved_to_memory"], true);
        assert_eq!(done["memory_entities"][0], "executive_summary_report");
        assert_eq!(done["memory_entities"][1], "detailed_implementation_plan");
        assert_eq!(ok(other.get(AGENT, &format!("/api/plan/{}", session(&done))).await), done);
        // What is in memory is really there.
        for name in done["memory_entities"].as_array().unwrap() {
            let path = format!("/v1/plans/{}/entities/{}", session(&done), name.as_str().unwrap());
            let entity = ok(other.get(AGENT, &path).await);
            assert!(done["final_plan"].as_str().unwrap().contains(entity["text"].as_str().unwrap()), "{entity}");
        }
        node.verifies().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_proposal_is_the_seeds_first_error_scenario() {
    let node = Node::start().await;
    let asked = plan(&node, 6, 3).await;
    let told = ok(say(&node, &asked, "rejected", json!({})).await);
    let expected = json!({
        "status": "cancelled", "reason": "user_rejected_proposal", "session_id": session(&asked),
        "message": "Planning cancelled. Please try again with a different approach.",
    });
    assert_eq!(told, expected);
    let path = format!("/v1/runs/{}/wait?timeout_ms=10000", session(&asked));
    assert_eq!(ok(node.get(AGENT, &path).await)["status"], "failed");
    assert_eq!(ok(node.get(AGENT, &format!("/api/plan/{}", session(&asked))).await), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_is_the_seeds_second_error_scenario_and_leads_to_the_plan() {
    let node = Node::start().await;
    let asked = approve(&node, &plan(&node, 6, 3).await).await;
    let told = ok(say(&node, &asked, "paused", json!({})).await);
    let expected = json!({
        "status": "paused", "reason": "user_requested_pause", "iteration": 3, "total_iterations": 6,
        "message": "Planning paused. Proceeding to final synthesis with iterations 1-3.",
        "session_id": session(&asked), "next_action": "Plan will be synthesized and saved",
    });
    assert_eq!(told, expected);
    let path = format!("/v1/plans/{}/wait?timeout_ms=10000", session(&asked));
    assert_eq!(ok(node.get(AGENT, &path).await)["status"], "complete");
    let done = ok(node.get(AGENT, &format!("/api/plan/{}", session(&asked))).await);
    assert_eq!((&done["status"], &done["iterations_completed"]), (&json!("complete"), &json!(3)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_session_is_the_seeds_third_error_scenario() {
    let plans = Plans { expires_after: Timeout::After(Duration::from_millis(300)), asks: true };
    let node = Node::with(Setting { plans, ..Setting::default() }).await;
    let asked = plan(&node, 6, 3).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let late = say(&node, &asked, "approved", json!({})).await;
    let expected = json!({
        "status": "error", "error": "session_expired", "code": "session_expired", "approval_id": asked["approval_id"],
        "message": "Your session has expired. Please start planning again.", "session_id": session(&asked),
    });
    assert_eq!((late.status, late.json()), (410, expected.clone()));
    let found = node.get(AGENT, &format!("/api/plan/{}", session(&asked))).await;
    assert_eq!((found.status, found.json()), (410, expected));
}
