//! What bad input gets: a status, a stable code, a sentence; and nothing is changed.

use serde_json::{Value, json};

use crate::{
    http,
    node::{Node, token},
};

#[tokio::test]
async fn every_bad_request_is_told_what_to_do() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let path = |verb: &str| format!("/v1/gates/{}/{verb}", gate["id"].as_str().unwrap());
    let nobody = "/v1/gates/gate-nobody/approve".to_owned();
    let deep = "[".repeat(200);
    let long = "x".repeat(300_000);
    #[rustfmt::skip]
    let cases: Vec<(&str, String, String, u16, &str)> = vec![
        ("alice", nobody.clone(), "{}".into(), 404, "unknown_gate"),
        ("alice", "/v1/gates/%00/approve".into(), "{}".into(), 404, "unknown_gate"),
        ("alice", "/v1/gates/..%2f..%2fetc/approve".into(), "{}".into(), 404, "unknown_gate"),
        ("alice", "/v1/nothing".into(), "{}".into(), 404, "unknown_address"),
        ("alice", "/v1/events".into(), "{}".into(), 405, "wrong_method"),
        ("alice", path("approve"), "{".into(), 400, "malformed_json"),
        ("alice", path("approve"), deep, 400, "malformed_json"),
        ("alice", path("approve"), "[]".into(), 422, "invalid"),
        ("alice", path("approve"), json!({"aproved": true}).to_string(), 422, "invalid"),
        ("alice", path("approve"), json!({"digest": "yes"}).to_string(), 422, "invalid"),
        ("alice", path("approve"), json!({"reason": "a\u{0}b"}).to_string(), 422, "invalid"),
        ("alice", path("approve"), json!({"reviewer": "bob"}).to_string(), 403, "not_you"),
        ("alice", path("approve"), json!({"edited": "text"}).to_string(), 422, "invalid"),
        ("alice", path("decide"), "{}".into(), 422, "invalid"),
        ("alice", path("decide"), json!({"decision": null}).to_string(), 422, "invalid"),
        ("alice", path("decide"), json!({"decision": "maybe"}).to_string(), 422, "invalid"),
        ("alice", path("decide"), json!({"decision": "pause"}).to_string(), 422, "decision_not_allowed"),
        ("alice", path("reject"), "".into(), 422, "reason_required"),
        ("alice", path("reject"), json!({"reason": "  "}).to_string(), 422, "reason_required"),
        ("alice", path("extend"), "{}".into(), 422, "invalid"),
        ("alice", path("extend"), json!({"timeout_ms": 0}).to_string(), 422, "invalid"),
        ("alice", path("extend"), json!({"timeout_ms": -5}).to_string(), 422, "invalid"),
        ("alice", path("extend"), json!({"timeout_ms": u64::MAX}).to_string(), 422, "invalid"),
        ("agent-a", path("approve"), "{}".into(), 403, "role_may_not"),
        ("agent-b", path("approve"), "{}".into(), 403, "role_may_not"),
        ("vera", path("approve"), "{}".into(), 403, "role_may_not"),
        ("vera", "/v1/gates".into(), json!({"summary": "x"}).to_string(), 403, "role_may_not"),
        ("agent-a", "/v1/gates".into(), "{}".into(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": ""}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "a\u{0}"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": long}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "title": "a\nb"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "colour": "red"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "risk": "huge"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "phase": "a b"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "run_id": "../x"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "on_behalf_of": "System"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "allowed": []}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "quorum": 0}).to_string(), 403, "weakens_policy"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "on_timeout": "approve"}).to_string(), 403, "weakens_policy"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "on_timeout": "retry"}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/gates".into(), json!({"summary": "x", "quorum": 3, "reviewers": ["alice"]}).to_string(), 422, "invalid"),
        ("agent-a", "/v1/tokens".into(), json!({"name": "x", "role": "admin"}).to_string(), 403, "role_may_not"),
        ("root-of-all", "/v1/tokens".into(), json!({"name": "system", "role": "admin"}).to_string(), 422, "invalid"),
        ("root-of-all", "/v1/tokens".into(), json!({"name": "alice", "role": "admin"}).to_string(), 409, "role_taken"),
        ("alice", "/v1/gates/wait".into(), json!({"ids": ["gate-nobody"]}).to_string(), 404, "unknown_gate"),
    ];
    for (who, path, body, status, code) in cases {
        let answer = http::send(&node.url, "POST", &path, &token(who), &[], &body).await;
        let short: String = body.chars().take(80).collect();
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{who} {path} {short}: {}", answer.body);
    }
    for (path, status, code) in [
        ("/v1/gates?status=open", 400, "bad_query"),
        ("/v1/gates?colour=red", 400, "bad_query"),
        ("/v1/gates?cursor=zzz", 422, "invalid"),
        ("/v1/gates?limit=-1", 400, "bad_query"),
        ("/v1/gates?limit=0", 400, "bad_query"),
        ("/v1/gates?limit=501", 400, "bad_query"),
        ("/v1/questions?limit=0", 400, "bad_query"),
        ("/v1/runs?limit=501", 400, "bad_query"),
        ("/v1/audit?limit=0", 400, "bad_query"),
        ("/v1/audit?limit=1001", 400, "bad_query"),
        ("/v1/audit?after=minus", 400, "bad_query"),
        ("/v1/gates/%ff%fe", 400, "bad_path"),
        ("/v1/events?after=4711", 400, "bad_position"),
    ] {
        let answer = node.get("alice", path).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
    for path in ["/v1/gates?limit=1", "/v1/gates?limit=500", "/v1/audit?limit=1000"] {
        assert_eq!(node.get("alice", path).await.status, 200, "{path}");
    }
    let still = node.get("alice", &format!("/v1/gates/{}", gate["id"].as_str().unwrap())).await.json();
    assert_eq!((&still["status"], &still["revision"]), (&json!("pending"), &json!(1)), "nothing was changed");
    node.verifies().await;
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_said() {
    let node = Node::start().await;
    for (token, scheme) in [("", ""), ("wrong-wrong-wrong-wrong", "Bearer"), ("secret-of-alice-0123456789", "Basic")] {
        let header = format!("{scheme} {token}");
        let headers = [("authorization", header.as_str())];
        let answer =
            http::send(&node.url, "GET", "/v1/gates", "", &headers[..usize::from(!scheme.is_empty())], "").await;
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"));
        assert!(answer.head.contains("www-authenticate: bearer"));
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_it_is_read() {
    let node = Node::start().await;
    let body = json!({"summary": "x".repeat(5 << 20)}).to_string();
    let answer = http::send(&node.url, "POST", "/v1/gates", &token("agent-a"), &[], &body).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"));
}

/// Whoever disagrees with us about where the body ends must not get a second request in.
#[tokio::test]
async fn after_two_lengths_in_one_request_the_connection_is_closed() {
    let node = Node::start().await;
    let head = format!("POST /v1/gates HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n", token("agent-a"));
    let smuggled = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let both = format!("{head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}");
    let answer = http::raw(&node.url, both.as_bytes()).await;
    assert!(answer.head.contains("connection: close"), "{answer:?}");
    assert!(!answer.body.contains("HTTP/1.1"), "the smuggled request was answered: {answer:?}");
}

#[tokio::test]
async fn a_decided_gate_says_what_was_decided_by_whom_and_when() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    let id = gate["id"].as_str().unwrap();
    node.post("alice", &format!("/v1/gates/{id}/reject"), json!({"reason": "not today"})).await;
    let late = node.post("bob", &format!("/v1/gates/{id}/approve"), json!({})).await;
    assert_eq!((late.status, late.code().as_str()), (409, "gate_decided"));
    let problem = late.json();
    assert_eq!(problem["decision"]["reviewer"], "alice");
    assert_eq!(problem["decision"]["decision"], "rejected");
    assert_eq!(problem["decision"]["reason"], "not today");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("rejected by alice at 20"), "{detail}");
    let named = node.opened(json!({"summary": "x", "reviewers": ["alice"]})).await;
    let path = format!("/v1/gates/{}/approve", named["id"].as_str().unwrap());
    assert_eq!(node.post("bob", &path, json!({})).await.code(), "not_a_reviewer");
    node.post("alice", &path, json!({})).await;
    assert_eq!(node.post("bob", &path, json!({})).await.code(), "gate_decided", "too late comes first");
}

#[tokio::test]
async fn every_code_that_the_server_can_give_is_explained() {
    let errors = include_str!("../../../../docs/errors.md");
    let source = include_str!("../../../folkmoot-core/src/refusal.rs").to_owned()
        + include_str!("../../src/error.rs")
        + include_str!("../../src/extract.rs")
        + include_str!("../../src/accept.rs")
        + include_str!("../../src/routes.rs")
        + include_str!("../../src/routes/events.rs")
        + include_str!("../../src/routes/health.rs")
        + include_str!("../../src/socket.rs")
        + include_str!("../../src/socket/origin.rs");
    let words: Vec<&str> = source.split('"').skip(1).step_by(2).collect();
    let codes: Vec<&&str> = words.iter().filter(|word| is_code(word)).collect();
    assert!(codes.len() > 30, "the codes were not found: {codes:?}");
    let missing: Vec<_> = codes.iter().filter(|code| !errors.contains(&format!("`{code}`"))).collect();
    assert_eq!(missing, Vec::<&&&str>::new(), "explain these in docs/errors.md");
}

fn is_code(word: &str) -> bool {
    // That would be the name of a figure.
    !word.starts_with("folkmoot_")
        && word.contains('_')
        && word.len() > 5
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[tokio::test]
async fn malformed_http_never_gets_a_5xx() {
    let node = Node::start().await;
    for bytes in [
        b"GET\r\n\r\n".as_slice(),
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/gates HTTP/1.1\r\nhost: localhost\r\ncontent-length: abc\r\n\r\n",
        b"GET /v1/gates HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \xff\xfe\r\nconnection: close\r\n\r\n",
    ] {
        let answer = http::raw(&node.url, bytes).await;
        assert!(answer.status < 500, "{bytes:?} got {answer:?}");
    }
    assert_eq!(http::send(&node.url, "GET", "/healthz", "", &[], "").await.status, 200, "and it still lives");
    let _: Value = node.opened(json!({"summary": "and works"})).await;
}
