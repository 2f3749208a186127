//! What configuration and tokens say about questions and halts.

use std::time::Duration;

use folkmoot_core::{
    Timeout,
    question::{QuestionPolicy, QuestionType, TypeDefaults},
};
use serde_json::json;

use crate::{
    halting::{ended, id},
    http,
    node::{Node, Setting, everywhere},
};

#[tokio::test]
async fn each_type_has_the_timeout_and_default_that_are_configured() {
    let mut policy = QuestionPolicy::default();
    let soon = Timeout::After(Duration::from_millis(200));
    policy.set(QuestionType::Blocking, TypeDefaults { timeout: soon, default: Some(json!("main")) }).unwrap();
    policy.set(QuestionType::Approval, TypeDefaults { timeout: soon, default: None }).unwrap();
    for never in [QuestionType::Approval, QuestionType::Emergency] {
        let refused = policy.set(never, TypeDefaults { timeout: soon, default: Some(json!("approve")) });
        assert_eq!(refused.unwrap_err().code(), "default_not_allowed", "not by configuration either");
    }
    let node = Node::with(Setting { questions: policy, ..Setting::default() }).await;
    let asked = node.asked(json!({"agent_id": "a1", "type": "BLOCKING", "text": "?"})).await;
    assert_eq!((&asked["default"], &asked["timeout_ms"]), (&json!("main"), &json!(200)));
    ended(&node.waited("a1", "", 20_000).await, true, "default", &[(&id(&asked), json!("main"))]);

    let own = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "default": "mine", "timeout_ms": 100});
    let own = node.asked(own).await;
    ended(&node.waited("a1", "", 20_000).await, true, "default", &[(&id(&own), json!("mine"))]);

    let without = node.asked(json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "options": ["x", "y"]})).await;
    assert_eq!(
        (&without["default"], &without["deadline"]),
        (&json!(null), &json!(null)),
        "what is not offered is no default"
    );
    let approval = node.asked(json!({"agent_id": "a2", "type": "APPROVAL", "text": "?"})).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    for question in [&without, &approval] {
        let shown = node.question("vera", &id(question)).await;
        assert_eq!(shown["status"], "pending");
        assert!(shown["reminders"].as_u64().unwrap() >= 1);
    }
    node.verifies().await;
}

#[tokio::test]
async fn a_changed_configuration_does_not_reach_a_question_that_stands() {
    let node = Node::start().await;
    let question = node.asks("a1", "", "BLOCKING").await;
    let mut policy = QuestionPolicy::default();
    let soon = Timeout::After(Duration::from_millis(50));
    policy.set(QuestionType::Blocking, TypeDefaults { timeout: soon, default: Some(json!("whatever")) }).unwrap();
    let node = Node::on(node.stop().await, Setting { questions: policy, ..Setting::default() }).await;
    ended(&node.waited("a1", "", 400).await, false, "timeout", &[]);
    assert_eq!(node.blockers("a1", "").await, [question]);
}

#[tokio::test]
async fn a_token_with_the_capability_halt_raises_and_lifts_nothing() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"name": "watcher", "role": "agent", "capabilities": ["halt"]});
        let made = first.post("root-of-all", "/v1/tokens", body).await.json();
        assert_eq!(made["capabilities"], json!(["halt"]));
        let (with, halt) = (made["token"].as_str().unwrap(), json!({"scope": "all", "reason": "stop"}).to_string());
        let plain = json!({"name": "watcher", "role": "agent"});
        let plain = first.post("root-of-all", "/v1/tokens", plain).await.json();
        let without = plain["token"].as_str().unwrap();
        let mut raised = http::send(&last.url, "POST", "/v1/halts", with, &[], &halt).await;
        for _ in 0..200 {
            if raised.status != 401 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            raised = http::send(&last.url, "POST", "/v1/halts", with, &[], &halt).await;
        }
        assert_eq!(raised.status, 201, "{raised:?}");
        let refused = http::send(&first.url, "POST", "/v1/halts", without, &[], &halt).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (403, "role_may_not"),
            "the token allows it, not the name"
        );
        let path = format!("/v1/halts/{}", id(&raised.json()));
        let refused = http::send(&first.url, "DELETE", &path, with, &[], "").await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "role_may_not"));
        let unknown = json!({"name": "x", "role": "agent", "capabilities": ["lift"]});
        assert_eq!(first.post("root-of-all", "/v1/tokens", unknown).await.code(), "invalid");
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_monitor_is_one_after_a_restart_too() {
    let node = Node::start().await;
    let node = Node::on(node.stop().await, Setting::default()).await;
    let raised = node.post("monitor", "/v1/halts", json!({"scope": "all", "reason": "stop"})).await;
    assert_eq!(raised.status, 201, "{raised:?}");
}
