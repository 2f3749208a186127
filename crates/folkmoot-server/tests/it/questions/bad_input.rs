//! What bad input about questions, clearance and halts gets: a status, a stable code, a sentence;
//! and nothing is changed.

use serde_json::{Value, json};

use crate::{
    halting::{id, kinds},
    http,
    node::{Node, everywhere, token},
};

/// How far the log is, but for refused attempts, which are recorded.
async fn changes(node: &Node) -> Vec<Value> {
    let mut log = node.log("vera").await;
    log.retain(|entry| !entry["type"].as_str().unwrap().ends_with(".refused"));
    log
}

#[tokio::test]
async fn a_bad_question_is_refused_and_nothing_is_changed() {
    for nodes in everywhere().await {
        let node = nodes.last().unwrap();
        let before = node.log("vera").await;
        let long = "x".repeat(256 * 1024 + 1);
        let answer_too_long = "x".repeat(16 * 1024 + 1);
        let many: Vec<String> = (0..51).map(|n| n.to_string()).collect();
        let approval = |more: Value| with(json!({"type": "APPROVAL", "text": "?"}), more);
        let blocking = |more: Value| with(json!({"type": "BLOCKING", "text": "?"}), more);
        #[rustfmt::skip]
        let cases: Vec<(Value, u16, &str)> = vec![
            (json!({}), 422, "invalid"),
            (json!({"text": "?"}), 422, "invalid"),
            (json!({"type": "BLOCKING"}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": null}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": ""}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": " \n\t "}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": 7}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": "a\u{0}b"}), 422, "invalid"),
            (json!({"type": "BLOCKING", "text": long}), 422, "invalid"),
            (json!({"type": "blocking", "text": "?"}), 422, "invalid"),
            (json!({"type": "URGENT", "text": "?"}), 422, "invalid"),
            (json!({"type": null, "text": "?"}), 422, "invalid"),
            (blocking(json!({"question": "?"})), 422, "invalid"),
            (blocking(json!({"id": "question-1"})), 422, "invalid"),
            (blocking(json!({"asked_by": "alice"})), 422, "invalid"),
            (blocking(json!({"agent_id": ""})), 422, "invalid"),
            (blocking(json!({"agent_id": "a b"})), 422, "invalid"),
            (blocking(json!({"agent_id": "*"})), 422, "invalid"),
            (blocking(json!({"agent_id": "system"})), 422, "invalid"),
            (blocking(json!({"agent_id": "Timeout"})), 422, "invalid"),
            (blocking(json!({"agent_id": "x".repeat(129)})), 422, "invalid"),
            (blocking(json!({"session_id": ""})), 422, "invalid"),
            (blocking(json!({"session_id": "../s"})), 422, "invalid"),
            (blocking(json!({"timeout_ms": 0})), 422, "invalid"),
            (blocking(json!({"timeout_ms": -1})), 422, "invalid"),
            (blocking(json!({"timeout_ms": 1.5})), 422, "invalid"),
            (blocking(json!({"timeout_ms": u64::MAX})), 422, "invalid"),
            (blocking(json!({"timeout_ms": "soon"})), 422, "invalid"),
            (blocking(json!({"halts": "everything"})), 422, "invalid"),
            (blocking(json!({"halts": "session"})), 422, "invalid"),
            (blocking(json!({"halts": true})), 422, "invalid"),
            (blocking(json!({"priority": 8})), 422, "invalid"),
            (blocking(json!({"options": ["a", "a"]})), 422, "invalid"),
            (blocking(json!({"options": ["a", ""]})), 422, "invalid"),
            (blocking(json!({"options": many})), 422, "invalid"),
            (blocking(json!({"options": "a"})), 422, "invalid"),
            (blocking(json!({"options": ["a"], "default": "b"})), 422, "invalid"),
            (blocking(json!({"options": ["7"], "default": 7})), 422, "invalid"),
            (blocking(json!({"default": ""})), 422, "invalid"),
            (blocking(json!({"default": answer_too_long})), 422, "invalid"),
            (approval(json!({"options": ["yes", "no"]})), 422, "invalid"),
            (approval(json!({"default": "approve"})), 422, "default_not_allowed"),
            (approval(json!({"default": "deny"})), 422, "default_not_allowed"),
            (approval(json!({"default": "approve", "halts": "all"})), 422, "default_not_allowed"),
            (json!({"type": "EMERGENCY", "text": "?", "default": "go on", "timeout_ms": 1}), 422, "default_not_allowed"),
        ];
        for (body, status, code) in cases {
            let answer = node.post("agent-a", "/v1/questions", body.clone()).await;
            let body: String = body.to_string().chars().take(90).collect();
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}: {}", answer.body);
        }
        for (body, status, code) in [("{", 400, "malformed_json"), ("[]", 422, "invalid"), ("null", 422, "invalid")] {
            let answer = http::send(&node.url, "POST", "/v1/questions", &token("agent-a"), &[], body).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}");
        }
        assert_eq!(node.log("vera").await, before, "something was written");
        assert_eq!(node.get("vera", "/v1/questions").await.json()["questions"], json!([]));
    }
}

#[tokio::test]
async fn a_bad_answer_is_refused_and_the_question_stays_open() {
    for nodes in everywhere().await {
        let (first, node) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "options": ["left", "right", "7"]});
        let choice = id(&first.asked(body).await);
        let open = first.asks("a1", "", "BLOCKING").await;
        let approval = first.asks("a1", "s1", "APPROVAL").await;
        let (before, row) = (changes(node).await, node.question("vera", &choice).await);
        let answer_too_long = "x".repeat(16 * 1024 + 1);
        #[rustfmt::skip]
        let cases: Vec<(&str, &str, Value, u16, &str)> = vec![
            ("question-nobody", "answer", json!({"answer": "x"}), 404, "unknown_question"),
            ("%00", "answer", json!({"answer": "x"}), 404, "unknown_question"),
            ("question-nobody", "deny", json!({}), 404, "unknown_question"),
            (&choice, "answer", json!({}), 422, "invalid"),
            (&choice, "answer", json!({"answer": null}), 422, "invalid"),
            (&choice, "answer", json!({"answer": "up"}), 422, "option_not_offered"),
            (&choice, "answer", json!({"answer": "Left"}), 422, "option_not_offered"),
            (&choice, "answer", json!({"answer": ["left"]}), 422, "option_not_offered"),
            (&choice, "answer", json!({"answer": 7}), 422, "option_not_offered"),
            (&choice, "answer", json!({"answer": true}), 422, "option_not_offered"),
            (&choice, "answer", json!({"answer": "left", "by": "bob"}), 422, "invalid"),
            (&choice, "answer", json!({"answer": "left", "reason": "x".repeat(16 * 1024 + 1)}), 422, "invalid"),
            (&open, "answer", json!({"answer": null}), 422, "invalid"),
            (&open, "answer", json!({"answer": ""}), 422, "invalid"),
            (&open, "answer", json!({"answer": "  "}), 422, "invalid"),
            (&open, "answer", json!({"answer": "a\u{0}"}), 422, "invalid"),
            (&open, "answer", json!({"answer": {"a\u{0}": 1}}), 422, "invalid"),
            (&open, "answer", json!({"answer": answer_too_long}), 422, "invalid"),
            (&open, "answer", json!({"answer": [answer_too_long]}), 422, "invalid"),
            (&approval, "answer", json!({"answer": "approved"}), 422, "option_not_offered"),
            (&approval, "answer", json!({"answer": "APPROVE"}), 422, "option_not_offered"),
            (&approval, "answer", json!({"answer": "yes"}), 422, "option_not_offered"),
            (&approval, "answer", json!({"answer": true}), 422, "option_not_offered"),
            (&approval, "answer", json!({"answer": {"approve": true}}), 422, "option_not_offered"),
            (&approval, "deny", json!({"answer": "deny"}), 422, "invalid"),
            (&approval, "deny", json!({"reason": 7}), 422, "invalid"),
            (&approval, "skip", json!({"why": "x"}), 422, "invalid"),
            (&approval, "approve", json!({}), 404, "unknown_address"),
        ];
        for (question, verb, body, status, code) in cases {
            let answer = node.closes("alice", question, verb, body.clone()).await;
            let body: String = body.to_string().chars().take(90).collect();
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{verb} {body}: {}", answer.body);
        }
        assert_eq!(changes(node).await, before, "something but refused attempts was written");
        assert_eq!(node.question("vera", &choice).await, row);
        assert!(!node.can_proceed("a1", "").await);
        first.answers(&choice, "7").await;
        first.answers(&approval, "approve").await;
        first.answers(&open, json!({"a": [0.1, 1e300, -0.0, 18_446_744_073_709_551_615_u64, i64::MIN]})).await;
        first.verifies().await;
    }
}

#[tokio::test]
async fn what_is_closed_or_over_is_not_answered_again() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for (verb, word) in [("deny", "denied"), ("skip", "skipped"), ("cancel", "cancelled")] {
            let question = first.asks("a1", "", "BLOCKING").await;
            first.says(&question, verb).await;
            let late = last.closes("bob", &question, "answer", json!({"answer": "late"})).await;
            assert_eq!((late.status, late.code().as_str()), (409, "question_closed"));
            let closed = &late.json()["closed"];
            assert_eq!((&closed["by"], &closed["status"]), (&json!("alice"), &json!(word)));
        }
        let body = json!({"agent_id": "a2", "type": "BLOCKING", "text": "?", "default": "x", "timeout_ms": 150});
        let question = id(&first.asked(body).await);
        last.get("agent-a", &format!("/v1/questions/{question}/wait?timeout_ms=20000")).await;
        let late = last.closes("bob", &question, "answer", json!({"answer": "late"})).await;
        assert_eq!(late.status, 409);
        assert!(["question_closed", "question_expired"].contains(&late.code().as_str()), "{late:?}");
        let shown = first.question("vera", &question).await;
        assert_eq!((&shown["status"], &shown["answer"]), (&json!("expired"), &json!("x")));
        assert_eq!(shown["closed"]["by"], "timeout");
        first.verifies().await;
    }
}

/// The answer that comes at the very moment of the timeout either counts or is refused: never both,
/// never neither.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_at_the_moment_of_the_timeout_counts_or_is_refused() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for round in 0..12_u64 {
            let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "default": "x", "timeout_ms": 60});
            let question = id(&first.asked(body).await);
            tokio::time::sleep(std::time::Duration::from_millis(45 + 2 * round)).await;
            let answered = last.closes("alice", &question, "answer", json!({"answer": "mine"})).await;
            let path = format!("/v1/questions/{question}/wait?timeout_ms=20000");
            let shown = first.get("vera", &path).await.json();
            let expected = if answered.status == 200 { ("answered", "mine") } else { ("expired", "x") };
            assert_eq!((&shown["status"], &shown["answer"]), (&json!(expected.0), &json!(expected.1)), "{answered:?}");
            if answered.status != 200 {
                assert_eq!(answered.status, 409);
                assert!(["question_closed", "question_expired"].contains(&answered.code().as_str()));
            }
        }
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_bad_halt_is_refused_and_nothing_is_changed() {
    for nodes in everywhere().await {
        let node = nodes.last().unwrap();
        let before = node.log("vera").await;
        #[rustfmt::skip]
        let cases = vec![
            json!({}),
            json!({"scope": "all"}),
            json!({"scope": "all", "reason": ""}),
            json!({"scope": "all", "reason": " "}),
            json!({"scope": "all", "reason": null}),
            json!({"scope": "all", "reason": "x".repeat(16 * 1024 + 1)}),
            json!({"scope": "all", "reason": "a\u{0}"}),
            json!({"scope": "system", "reason": "x"}),
            json!({"scope": null, "reason": "x"}),
            json!({"reason": "x"}),
            json!({"scope": "session", "reason": "x"}),
            json!({"scope": "session", "session_id": "", "reason": "x"}),
            json!({"scope": "session", "agent_id": "a1", "reason": "x"}),
            json!({"scope": "session", "session_id": "s1", "agent_id": "a1", "reason": "x"}),
            json!({"scope": "agent", "reason": "x"}),
            json!({"scope": "agent", "agent_id": "", "reason": "x"}),
            json!({"scope": "agent", "agent_id": "*", "reason": "x"}),
            json!({"scope": "agent", "session_id": "s1", "reason": "x"}),
            json!({"scope": "agent", "agent_id": "a1", "session_id": "s1", "reason": "x"}),
            json!({"scope": "agent", "agent_id": "system", "reason": "x"}),
            json!({"scope": "all", "agent_id": "a1", "reason": "x"}),
            json!({"scope": "all", "session_id": "s1", "reason": "x"}),
            json!({"scope": "all", "reason": "x", "until": "tomorrow"}),
        ];
        for body in cases {
            let answer = node.post("root-of-all", "/v1/halts", body.clone()).await;
            let body: String = body.to_string().chars().take(90).collect();
            assert_eq!((answer.status, answer.code().as_str()), (422, "invalid"), "{body}: {}", answer.body);
        }
        for unknown in ["halt-nobody", "%00", "..%2f", "x".repeat(65).as_str()] {
            let answer = node.delete("root-of-all", &format!("/v1/halts/{unknown}")).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_halt"), "{unknown}");
        }
        let question = node.asks("a1", "", "BLOCKING").await;
        let answer = node.delete("root-of-all", &format!("/v1/halts/{question}")).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_halt"), "a question is no halt");
        node.answers(&question, "yes").await;
        let log = node.log("vera").await;
        assert_eq!(log[..before.len()], before);
        let since = kinds(&log[before.len()..]);
        assert!(!since.iter().any(|kind| kind.starts_with("halt.")), "{since:?}");
        assert_eq!(node.halt_status("vera").await["system_halted"], false);
    }
}

#[tokio::test]
async fn a_bad_query_is_refused() {
    let node = Node::start().await;
    for (path, status, code) in [
        ("/v1/clearance?agent_id=", 400, "bad_query"),
        ("/v1/clearance?agent_id=a%20b", 400, "bad_query"),
        ("/v1/clearance?agent_id=*", 400, "bad_query"),
        ("/v1/clearance?agent_id=a&session_id=", 400, "bad_query"),
        ("/v1/clearance?agent=a", 400, "bad_query"),
        ("/v1/clearance?agent_id=a&agent_id=b", 400, "bad_query"),
        ("/v1/clearance/wait?agent_id=", 400, "bad_query"),
        ("/v1/clearance/wait?agent_id=a&timeout_ms=-1", 400, "bad_query"),
        ("/v1/clearance/wait?agent_id=a&timeout_ms=never", 400, "bad_query"),
        ("/v1/questions?status=open", 400, "bad_query"),
        ("/v1/questions?colour=red", 400, "bad_query"),
        ("/v1/questions?cursor=zzz", 422, "invalid"),
        ("/v1/questions?limit=-1", 400, "bad_query"),
        ("/v1/questions?agent=", 400, "bad_query"),
        ("/v1/questions/question-nobody", 404, "unknown_question"),
        ("/v1/questions/question-nobody/wait", 404, "unknown_question"),
        ("/v1/questions/question-nobody/wait?timeout_ms=x", 400, "bad_query"),
        ("/v1/questions/%ff%fe", 400, "bad_path"),
    ] {
        let answer = node.get("alice", path).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
    for path in ["/v1/clearance", "/v1/clearance/wait", "/v1/questions", "/v1/halts"] {
        let answer = http::send(&node.url, "GET", path, "", &[], "").await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"), "{path}");
    }
}

/// What the parser lets in must also come out again: an answer or default that is nested as deeply
/// as a body can be.
#[tokio::test]
async fn a_deep_answer_is_refused_or_released_and_can_be_read_again() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for depth in [100, 120, 122, 123, 124, 125, 126, 127, 128] {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            let question = first.asks("a1", "", "BLOCKING").await;
            let path = format!("/v1/questions/{question}/answer");
            let body = format!("{{\"answer\": {deep}}}");
            let answered = http::send(&first.url, "POST", &path, &token("alice"), &[], &body).await;
            assert!([200, 400, 422].contains(&answered.status), "{depth}: {answered:?}");
            let shown = last.get("vera", &format!("/v1/questions/{question}")).await;
            assert_eq!(shown.status, 200, "an answer of depth {depth} was taken and cannot be read: {shown:?}");
            if answered.status != 200 {
                first.answers(&question, "flat").await;
            }
            crate::halting::settles(&nodes, "a1", "", true).await;
            let body = format!(
                "{{\"agent_id\": \"a2\", \"type\": \"BLOCKING\", \"text\": \"?\", \"timeout_ms\": 50, \"default\": {deep}}}"
            );
            let asked = http::send(&first.url, "POST", "/v1/questions", &token("agent-a"), &[], &body).await;
            assert!([201, 400, 422].contains(&asked.status), "{depth}: {asked:?}");
            if asked.status == 201 {
                crate::halting::settles(&nodes, "a2", "", true).await;
            }
        }
        first.verifies().await;
        assert_eq!(last.get("vera", "/v1/questions").await.status, 200);
    }
}

/// A timeout so long that it cannot be counted in microseconds must not come round at once.
#[tokio::test]
async fn a_very_long_timeout_is_refused_or_very_long() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for timeout_ms in [1_u64 << 41, 1 << 53, 9_223_372_036_854, 9_223_372_036_854_775, (1 << 63) - 1, 1 << 63] {
            let body =
                json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "default": "x", "timeout_ms": timeout_ms});
            let answer = first.post("agent-a", "/v1/questions", body).await;
            if answer.status != 201 {
                assert_eq!((answer.status, answer.code().as_str()), (422, "invalid"), "{timeout_ms}");
                continue;
            }
            let question = id(&answer.json());
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            let shown = last.question("vera", &question).await;
            assert_eq!(shown["status"], "pending", "{timeout_ms}: {shown}");
            first.answers(&question, "y").await;
        }
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_body_that_says_two_things_is_refused() {
    let node = Node::start().await;
    let approval = node.asks("a1", "s1", "APPROVAL").await;
    for (who, path, body) in [
        ("alice", format!("/v1/questions/{approval}/answer"), r#"{"answer": "deny", "answer": "approve"}"#),
        ("agent-a", "/v1/questions".to_owned(), r#"{"type": "EMERGENCY", "text": "?", "type": "ALERT"}"#),
        (
            "agent-a",
            "/v1/questions".to_owned(),
            r#"{"type": "BLOCKING", "text": "?", "agent_id": "a", "agent_id": "b"}"#,
        ),
        ("root-of-all", "/v1/halts".to_owned(), r#"{"scope": "all", "scope": "all", "reason": "x"}"#),
    ] {
        let answer = http::send(&node.url, "POST", &path, &token(who), &[], body).await;
        assert_eq!((answer.status, answer.code().as_str()), (422, "invalid"), "{body}");
    }
    assert_eq!(node.blockers("a1", "s1").await, [approval]);
}

#[tokio::test]
async fn a_wrong_method_changes_nothing() {
    let node = Node::start().await;
    let question = node.asks("a1", "s1", "APPROVAL").await;
    let halt = node.halts(json!({"scope": "all"})).await;
    let before = node.log("vera").await;
    for (method, path) in [
        ("POST", "/v1/clearance".to_owned()),
        ("POST", "/v1/clearance/wait".to_owned()),
        ("DELETE", "/v1/halts".to_owned()),
        ("PUT", format!("/v1/halts/{halt}")),
        ("POST", format!("/v1/halts/{halt}")),
        ("DELETE", format!("/v1/questions/{question}")),
        ("PATCH", format!("/v1/questions/{question}")),
        ("GET", format!("/v1/questions/{question}/answer")),
        ("GET", format!("/v1/questions/{question}/skip")),
        ("PUT", format!("/v1/questions/{question}/answer")),
    ] {
        let answer = http::send(&node.url, method, &path, &token("root-of-all"), &[], r#"{"answer": "approve"}"#).await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "wrong_method"), "{method} {path}");
    }
    assert_eq!(node.log("vera").await, before);
}

fn with(mut body: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}
