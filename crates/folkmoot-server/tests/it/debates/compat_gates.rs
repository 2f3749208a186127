//! `/v1/debate/{debate_id}/gates…`, in the shapes of HelixAgent's gate API.

use super::*;
use crate::node::everywhere;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gates_are_listed_shown_and_decided_in_the_seeds_own_shapes() {
    for nodes in everywhere().await {
        let (node, other) = (&nodes[0], nodes.last().unwrap());
        let id = start(node, json!({ "gates": gates(&["proposal", "convergence"]) })).await;
        let gate = waits(node, &id, "").await;
        let path = format!("/v1/debate/{id}/gates");
        let list = ok(other.get(ALICE, &path).await);
        let [request] = list["gates"].as_array().unwrap().as_slice() else { panic!("one waits: {list:#}") };
        let mut expected = ["id", "debate_id", "session_id", "phase", "summary", "artifacts", "requested_at", "status"];
        expected.sort_unstable();
        let mut found = keys(request);
        found.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(
            (&request["id"], &request["debate_id"], &request["phase"], &request["status"]),
            (&json!(gate), &json!(id), &json!("proposal"), &json!("pending"))
        );
        assert!(request["summary"].as_str().unwrap().contains("proposal"), "{request:#}");
        assert!(gate.starts_with(&format!("gate-{id}-proposal-")), "{gate}");
        let answers = request["artifacts"]["answers"].as_array().expect("JSON is JSON");
        assert!(answers[0]["author"].is_string(), "{request:#}");
        assert_eq!(ok(node.get(AGENT, &format!("{path}/{gate}")).await), *request);

        let decision = ok(other
            .post(ALICE, &format!("{path}/{gate}/approve"), json!({ "reviewer": ALICE, "reason": "fine" }))
            .await);
        let mut found = keys(&decision);
        found.sort_unstable();
        assert_eq!(found, ["decided_at", "decision", "reason", "request_id", "reviewer"]);
        assert_eq!(
            (&decision["request_id"], &decision["decision"], &decision["reviewer"], &decision["reason"]),
            (&json!(gate), &json!("approved"), &json!(ALICE), &json!("fine"))
        );
        let again = node.post("bob", &format!("{path}/{gate}/reject"), json!({ "reason": "no" })).await;
        assert_eq!(refused(&again), (409, "gate_decided".to_owned()), "not pending any more");
        assert_eq!(again.json()["decision"]["decision"], "approved", "and it says what stands");

        let last = waits(node, &id, &gate).await;
        let decision = ok(node.post("bob", &format!("{path}/{last}/reject"), json!({ "reason": "not yet" })).await);
        assert_eq!((&decision["decision"], &decision["reviewer"]), (&json!("rejected"), &json!("bob")));
        over(node, &id).await;
        assert_eq!(ok(node.get(ALICE, &path).await), json!({ "gates": [] }), "those that wait");
        assert_eq!(ok(node.get(ALICE, &format!("{path}/{gate}")).await)["status"], "approved");
        assert_eq!(ok(node.get(ALICE, &format!("{path}/{last}")).await)["status"], "rejected");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_gates_of_that_debate_are_there() {
    let node = Node::start().await;
    let one = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let two = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let (of_one, of_two) = (waits(&node, &one, "").await, waits(&node, &two, "").await);
    let outside = node.opened(json!({ "summary": "May I?" })).await["id"].as_str().unwrap().to_owned();
    let forged = node.opened(json!({ "summary": "May I?", "run_id": one, "phase": "proposal" })).await;
    let forged = forged["id"].as_str().unwrap().to_owned();
    for gate in [&of_two, &outside, &forged, &"nothing".to_owned(), &"%20".to_owned()] {
        let path = format!("/v1/debate/{one}/gates/{gate}");
        assert_eq!(refused(&node.get(ALICE, &path).await), (404, "unknown_gate".to_owned()), "{gate}");
        for verb in ["approve", "reject"] {
            let answer = node.post(ALICE, &format!("{path}/{verb}"), json!({ "reason": "r" })).await;
            assert_eq!(refused(&answer), (404, "unknown_gate".to_owned()), "{gate}");
        }
    }
    let path = format!("/v1/debate/nothing/gates/{of_one}");
    assert_eq!(refused(&node.get(ALICE, &path).await), (404, "unknown_run".to_owned()));
    assert_eq!(refused(&node.get(ALICE, "/v1/debate/nothing/gates").await), (404, "unknown_run".to_owned()));
    let path = format!("/v1/debate/{one}/gates/{of_one}/approve");
    assert_eq!(refused(&node.post(AGENT, &path, json!({})).await), (403, "role_may_not".to_owned()));
    assert_eq!(refused(&node.post(ALICE, &path, json!({ "reviewer": "bob" })).await), (403, "not_you".to_owned()));
    assert_eq!(refused(&node.post(ALICE, &path, json!({ "approved": true })).await), (422, "invalid".to_owned()));
    for gate in [&of_one, &of_two, &outside, &forged] {
        assert_eq!(ok(node.get(ALICE, &format!("/v1/gates/{gate}")).await)["status"], "pending", "none was touched");
    }
    ok(node.post(ALICE, &path, json!({})).await);
    over(&node, &one).await;
}

/// HelixAgent's gate API has no word for one vote of several.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_two_must_agree_the_first_is_told_that_it_still_waits() {
    use folkmoot_core::gate::GatePolicy;
    let policy = GatePolicy { quorum: 2, ..GatePolicy::default() };
    let node = Node::with(crate::node::Setting { policy, ..Default::default() }).await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let gate = waits(&node, &id, "").await;
    let path = format!("/v1/debate/{id}/gates/{gate}/approve");
    let first = node.post(ALICE, &path, json!({})).await;
    assert_eq!((first.status, &first.json()["status"]), (202, &json!("pending")), "{first:?}");
    assert_eq!(refused(&node.post(ALICE, &path, json!({})).await), (409, "already_voted".to_owned()));
    assert_eq!(ok(node.post("bob", &path, json!({})).await)["reviewer"], "bob");
    over(&node, &id).await;
}
