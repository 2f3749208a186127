//! Waiting for clearance, and for one answer.

use std::time::{Duration, Instant};

use folkmoot_api::wire::ClearanceFor;
use folkmoot_core::clearance::ReleaseReason;
use serde_json::json;

use crate::{
    halting::{covered, ended, id, ids, settles},
    http,
    node::{Node, Setting, everywhere, token},
};

#[tokio::test]
async fn each_waiter_has_its_own_time() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = first.asks("a1", "", "BLOCKING").await;
        covered(&nodes, "a1", "", &[&question]).await;
        let began = Instant::now();
        let mut waiting = Vec::new();
        for patience_ms in [900, 300, 600, 60_000] {
            waiting.push((patience_ms, Instant::now(), last.waiting("a1", "", patience_ms).await));
        }
        let patient = waiting.pop().unwrap().2;
        for (patience_ms, since, waiting) in waiting {
            let waited = waiting.await.unwrap();
            ended(&waited, false, "timeout", &[]);
            assert_eq!(ids(&waited["blocked_by"]), [question.as_str()]);
            assert!(since.elapsed() >= Duration::from_millis(patience_ms), "{patience_ms} ms were over early");
        }
        assert!(began.elapsed() < Duration::from_secs(50), "they waited for each other");
        assert!(!patient.is_finished());
        first.answers(&question, "yes").await;
        ended(&patient.await.unwrap(), true, "answered", &[(&question, json!("yes"))]);
    }
}

#[tokio::test]
async fn a_waiters_timeout_applies_no_default_and_the_questions_does() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"agent_id": "a1", "session_id": "s1", "type": "ESCALATION", "text": "?", "halts": "all",
            "options": ["stay", "go"], "default": "stay", "timeout_ms": 900});
        let question = id(&first.asked(body).await);
        covered(&nodes, "other", "s9", &[&question]).await;
        ended(&last.waited("a1", "s1", 50).await, false, "timeout", &[]);
        assert_eq!(last.question("vera", &question).await["status"], "pending");
        let neighbour = last.waiting("other", "s9", 20_000).await;
        ended(&first.waited("a1", "s1", 20_000).await, true, "default", &[(&question, json!("stay"))]);
        ended(&neighbour.await.unwrap(), true, "default", &[(&question, json!("stay"))]);
        ended(&last.waited("a1", "s1", 20_000).await, true, "default", &[(&question, json!("stay"))]);
        let shown = last.question("vera", &question).await;
        assert_eq!((&shown["status"], &shown["closed"]["by"]), (&json!("expired"), &json!("timeout")));
        let told = first.story(&question).await;
        assert_eq!(told[4..], ["question.expired", "agent.resumed", "session.resumed", "system.resumed"], "{told:?}");
    }
}

#[tokio::test]
async fn an_early_answer_is_found_by_a_later_wait() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let one = first.asks("a1", "s1", "APPROVAL").await;
        let two = last.asks("a1", "s1", "BLOCKING").await;
        last.answers(&two, 42).await;
        first.answers(&one, "approve").await;
        settles(&nodes, "a1", "s1", true).await;
        let answers = [(two.as_str(), json!(42)), (&one, json!("approve"))];
        ended(&last.waited("a1", "s1", 20_000).await, true, "answered", &answers);
        ended(&first.waited("a1", "", 20_000).await, true, "answered", &answers);
        let shown = last.get("agent-a", &format!("/v1/questions/{one}/wait?timeout_ms=20000")).await.json();
        assert_eq!((&shown["status"], &shown["answer"]), (&json!("answered"), &json!("approve")));
        let three = first.asks("a1", "s1", "BLOCKING").await;
        first.answers(&three, "new").await;
        settles(&nodes, "a1", "s1", true).await;
        ended(&first.waited("a1", "s1", 20_000).await, true, "answered", &[(&three, json!("new"))]);
    }
}

/// Whoever begins to wait after the last answer is told both; so is whoever begins between the two.
#[tokio::test]
async fn an_early_answer_is_told_to_a_wait_that_something_else_still_holds() {
    let node = Node::start().await;
    let one = node.asks("a1", "", "BLOCKING").await;
    let two = node.asks("a1", "", "BLOCKING").await;
    node.answers(&one, "early").await;
    let waiting = node.waiting("a1", "", 20_000).await;
    node.answers(&two, "late").await;
    let answers = [(one.as_str(), json!("early")), (&two, json!("late"))];
    ended(&node.waited("a1", "", 20_000).await, true, "answered", &answers);
    ended(&waiting.await.unwrap(), true, "answered", &answers);
}

/// What an agent asked beside it must not push the answer out of sight.
#[tokio::test]
async fn an_early_answer_is_found_however_much_else_the_agent_asked() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = first.asks("a1", "", "BLOCKING").await;
        for _ in 0..25 {
            first.asks("a1", "", "PREFERENCE").await;
        }
        last.answers(&question, "yes").await;
        settles(&nodes, "a1", "", true).await;
        ended(&last.waited("a1", "", 20_000).await, true, "answered", &[(&question, json!("yes"))]);
    }
}

#[tokio::test]
async fn a_denial_ends_its_askers_wait_frees_its_neighbours_and_is_then_over() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = first.asks("a1", "s1", "APPROVAL").await;
        covered(&nodes, "a1", "s1", &[&question]).await;
        let asker = last.waiting("a1", "s1", 20_000).await;
        let asker_elsewhere = first.waiting("a1", "", 20_000).await;
        let neighbour = last.waiting("a2", "s1", 20_000).await;
        let denied = first.closes("alice", &question, "deny", json!({"reason": "not on a Friday"})).await.json();
        assert_eq!((&denied["status"], &denied["answer"]), (&json!("denied"), &json!("deny")));
        for waiting in [asker, asker_elsewhere] {
            let waited = waiting.await.unwrap();
            ended(&waited, false, "denied", &[(&question, json!("deny"))]);
            assert_eq!(waited["answers"][0]["comment"], "not on a Friday");
        }
        assert_eq!(neighbour.await.unwrap()["cleared"], true, "a neighbour asked nothing, and is free");
        // However often it waits, until it has acknowledged that: an answer to a wait can be lost
        // on its way.
        ended(&last.waited("a1", "s1", 20_000).await, false, "denied", &[(&question, json!("deny"))]);
        covered(&nodes, "a1", "s1", &[&question]).await;
        assert_eq!(last.acknowledges(&question).await["closed"]["reason"], "not on a Friday");
        settles(&nodes, "a1", "s1", true).await;
        settles(&nodes, "a2", "s1", true).await;
        let after = first.waited("a1", "s1", 20_000).await;
        assert_eq!((&after["cleared"], &after["reason"]), (&json!(true), &json!("answered")), "{after}");
        assert_eq!(last.get("agent-a", "/v1/clearance?agent_id=a1&session_id=s1").await.json()["can_proceed"], true);
        first.verifies().await;
    }
}

/// The document says: "`timeout` or `denied` where it may not work". Whoever was not asked for, and
/// is free, is not denied.
#[tokio::test]
async fn a_neighbour_that_a_denial_frees_is_not_told_that_it_was_denied() {
    let node = Node::start().await;
    let question = node.asks("a1", "s1", "APPROVAL").await;
    let neighbour = node.waiting("a2", "s1", 20_000).await;
    node.says(&question, "deny").await;
    let waited = neighbour.await.unwrap();
    assert_eq!(waited["cleared"], true);
    assert_ne!(waited["reason"], "denied", "cleared, and denied: {waited}");
}

#[tokio::test]
async fn a_denial_beside_another_blocker_ends_the_wait_and_the_other_still_covers() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let approval = first.asks("a1", "s1", "APPROVAL").await;
        let blocking = first.asks("a1", "s1", "BLOCKING").await;
        covered(&nodes, "a1", "s1", &[&approval, &blocking]).await;
        let waiting = last.waiting("a1", "s1", 20_000).await;
        first.says(&approval, "deny").await;
        ended(&waiting.await.unwrap(), false, "denied", &[(&approval, json!("deny"))]);
        last.acknowledges(&approval).await;
        covered(&nodes, "a1", "s1", &[&blocking]).await;
        let waiting = last.waiting("a1", "s1", 20_000).await;
        first.answers(&blocking, "yes").await;
        ended(&waiting.await.unwrap(), true, "answered", &[(&blocking, json!("yes"))]);
    }
}

#[tokio::test]
async fn denying_an_emergency_frees_everyone_but_its_asker() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let emergency = first.asks("a1", "s1", "EMERGENCY").await;
        covered(&nodes, "other", "", &[&emergency]).await;
        let waiting = last.waiting("other", "s2", 20_000).await;
        first.says(&emergency, "deny").await;
        assert_eq!(waiting.await.unwrap()["cleared"], true);
        settles(&nodes, "a2", "s1", true).await;
        covered(&nodes, "a1", "s1", &[&emergency]).await;
        let status = first.halt_status("vera").await;
        assert_eq!((&status["system_halted"], &status["halted_sessions"]), (&json!(false), &json!([])));
        assert_eq!(status["halted_agents"], json!(["a1"]));
        ended(&last.waited("a1", "s1", 20_000).await, false, "denied", &[(&emergency, json!("deny"))]);
        last.acknowledges(&emergency).await;
        settles(&nodes, "a1", "s1", true).await;
    }
}

#[tokio::test]
async fn a_wait_says_what_took_the_last_blocker_away() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for (verb, word) in [("skip", "skipped"), ("cancel", "cancelled")] {
            let halt = first.halts(json!({"scope": "session", "session_id": "s1"})).await;
            let question = first.asks("a1", "s1", "APPROVAL").await;
            covered(&nodes, "a1", "s1", &[&halt, &question]).await;
            let waiting = last.waiting("a1", "s1", 20_000).await;
            first.lifts(&halt).await;
            first.says(&question, verb).await;
            let waited = waiting.await.unwrap();
            ended(&waited, true, word, &[(&question, json!(null))]);
            assert_eq!(waited["answers"][0]["comment"], format!("{verb}, because"));

            let halt = first.halts(json!({"scope": "session", "session_id": "s1"})).await;
            let question = first.asks("a1", "s1", "APPROVAL").await;
            covered(&nodes, "a1", "s1", &[&halt, &question]).await;
            let waiting = last.waiting("a1", "s1", 20_000).await;
            first.says(&question, verb).await;
            first.lifts(&halt).await;
            ended(&waiting.await.unwrap(), true, "lifted", &[(&question, json!(null))]);
        }
    }
}

#[tokio::test]
async fn what_went_before_a_timeout_is_told_at_the_timeout() {
    let node = Node::start().await;
    let one = node.asks("a1", "", "BLOCKING").await;
    let two = node.asks("a1", "", "BLOCKING").await;
    let waiting = node.waiting("a1", "", 400).await;
    node.answers(&one, "yes").await;
    let waited = waiting.await.unwrap();
    ended(&waited, false, "timeout", &[(&one, json!("yes"))]);
    assert_eq!(ids(&waited["blocked_by"]), [two]);
}

#[tokio::test]
async fn what_begins_to_cover_a_waiter_while_it_waits_holds_it_too() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let one = first.asks("a1", "s1", "BLOCKING").await;
        covered(&nodes, "a1", "s1", &[&one]).await;
        let waiting = last.waiting("a1", "s1", 20_000).await;
        let two = first.asks("a2", "s1", "APPROVAL").await;
        first.answers(&one, "yes").await;
        covered(&nodes, "a1", "s1", &[&two]).await;
        let three = first.halts(json!({"scope": "all"})).await;
        first.answers(&two, "approve").await;
        covered(&nodes, "a1", "s1", &[&three]).await;
        assert!(!waiting.is_finished());
        first.lifts(&three).await;
        ended(&waiting.await.unwrap(), true, "lifted", &[(&one, json!("yes")), (&two, json!("approve"))]);
    }
}

#[tokio::test]
async fn a_wait_for_one_answer_ends_with_it_and_fetches_a_denial() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for (verb, word) in [("answer", "answered"), ("deny", "denied"), ("skip", "skipped"), ("cancel", "cancelled")] {
            let question = first.asks("a1", "", "BLOCKING").await;
            let url = last.url.clone();
            let path = format!("/v1/questions/{question}/wait?timeout_ms=20000");
            let waiting =
                tokio::spawn(async move { http::send(&url, "GET", &path, &token("agent-a"), &[], "").await.json() });
            tokio::time::sleep(Duration::from_millis(50)).await;
            let body = if verb == "answer" { json!({"answer": "x"}) } else { json!({}) };
            assert_eq!(first.closes("alice", &question, verb, body).await.status, 200);
            assert_eq!(waiting.await.unwrap()["status"], word);
            first.acknowledges(&question).await;
            settles(&nodes, "a1", "", true).await;
        }
        let open = first.asks("a1", "", "BLOCKING").await;
        let still = last.get("agent-a", &format!("/v1/questions/{open}/wait?timeout_ms=20")).await.json();
        assert_eq!(still["status"], "pending");
    }
}

/// Whoever has gone does not hear it either, as far as the server can know.
#[tokio::test]
async fn a_waiter_that_has_gone_fetches_no_denial_and_leaves_nothing_behind() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = first.asks("a1", "", "APPROVAL").await;
        covered(&nodes, "a1", "", &[&question]).await;
        for _ in 0..20 {
            let waiting = last.waiting("a1", "", 20_000).await;
            waiting.abort();
            let _ = waiting.await;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        first.says(&question, "deny").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        covered(&nodes, "a1", "", &[&question]).await;
        ended(&first.waited("a1", "", 20_000).await, false, "denied", &[(&question, json!("deny"))]);
    }
}

#[tokio::test]
async fn an_ending_server_ends_waits_without_clearing_anybody() {
    let node = Node::start().await;
    let question = node.asks("a1", "s1", "APPROVAL").await;
    let waiting = node.waiting("a1", "s1", 50_000).await;
    let data = node.stop().await;
    let waited = waiting.await.unwrap();
    ended(&waited, false, "timeout", &[]);
    assert_eq!(ids(&waited["blocked_by"]), [question.as_str()]);
    let node = Node::on(data, Setting::default()).await;
    assert_eq!(node.blockers("a2", "s1").await, [question]);
}

#[tokio::test]
async fn the_client_waits_and_is_told_the_same() {
    let node = Node::start().await;
    let question = node.asks("a1", "s1", "APPROVAL").await;
    let agent = ClearanceFor { agent_id: Some("a1".parse().unwrap()), session_id: None, timeout_ms: None };
    let client = node.client("agent-a");
    let clearance = client.clearance(&agent).await.unwrap();
    assert!(!clearance.can_proceed && clearance.blocked_by[0].id == question);
    let waited = client.wait_clearance(&agent, Duration::from_millis(50)).await.unwrap();
    assert_eq!((waited.cleared, waited.reason), (false, ReleaseReason::Timeout));
    let waiting = tokio::spawn(async move { client.cleared(&agent, Duration::from_secs(5)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    node.answers(&question, "approve").await;
    let waited = waiting.await.unwrap().unwrap();
    assert_eq!((waited.cleared, waited.reason), (true, ReleaseReason::Answered));
    assert_eq!(waited.answers[0].answer, Some(json!("approve")));
}

/// A reminder is an event in the log, for ever. An agent that asks for one each millisecond must
/// not fill the disk.
#[tokio::test]
async fn reminders_do_not_flood_the_log() {
    let node = Node::start().await;
    for _ in 0..10 {
        node.asked(json!({"type": "BLOCKING", "text": "?", "timeout_ms": 1})).await;
    }
    let before = node.log("vera").await.len();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let grown = node.log("vera").await.len() - before;
    assert!(grown < 100, "ten open questions wrote {grown} events in a second");
}
