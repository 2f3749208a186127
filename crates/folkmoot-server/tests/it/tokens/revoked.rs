//! From the moment its revocation is acknowledged, a token does nothing: on any node, whatever it
//! had begun.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::{
    debates,
    halting::id,
    http::{self, Answer},
    node::{Node, everywhere, everywhere_with, token},
    plans,
    runs::with_workflows,
};

/// How long anything here may take.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A token that was made for one test.
pub struct Minted {
    pub id: String,
    pub secret: String,
}

pub async fn mint(node: &Node, name: &str, role: &str) -> Minted {
    let made = node.post("root-of-all", "/v1/tokens", json!({"name": name, "role": role})).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = made.json();
    Minted { id: id(&made), secret: made["token"].as_str().unwrap().to_owned() }
}

pub async fn revoke(node: &Node, minted: &Minted) {
    let gone = node.delete("root-of-all", &format!("/v1/tokens/{}", minted.id)).await;
    assert!(gone.json()["revoked_at"].is_string(), "{gone:?}");
}

/// A request whose head was sent and understood, and whose body was not sent.
pub struct HeldBack {
    stream: TcpStream,
    body: String,
}

impl HeldBack {
    /// Returns when the server asks for the body: by then it has let the token in.
    pub async fn send(node: &Node, method: &str, path: &str, secret: &str, body: &str) -> Self {
        let host = node.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: Bearer {secret}\r\n\
             expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let asks = read_until(&mut stream, "\r\n\r\n").await;
        assert!(asks.starts_with("HTTP/1.1 100"), "{method} {path}: {asks}");
        Self { stream, body: body.to_owned() }
    }

    /// Sends the body, and reads the answer.
    pub async fn finish(mut self) -> Answer {
        // It may have been answered already.
        let _ = self.stream.write_all(self.body.as_bytes()).await;
        answer(&rest(&mut self.stream).await)
    }
}

/// Reads until this has come.
async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut part = [0; 4096];
    while !text.contains(end) {
        let length =
            tokio::time::timeout(TEST_TIMEOUT, stream.read(&mut part)).await.expect("it comes in time").unwrap();
        assert_ne!(length, 0, "it ended before {end:?}: {text}");
        text += &String::from_utf8_lossy(&part[..length]);
    }
    text
}

/// All that still comes until the server ends it.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(TEST_TIMEOUT, stream.read_to_end(&mut rest)).await;
    let _ = read.expect("the server ends it in time");
    String::from_utf8_lossy(&rest).into_owned()
}

fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Answer { status, head: head.to_lowercase(), body: body.to_owned() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_whose_body_comes_after_the_revocation_decides_nothing() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let gate = first.open("May I?").await;
        let zoe = mint(last, "zoe", "reviewer").await;
        let path = format!("/v1/gates/{}/approve", gate.id);
        let approves = HeldBack::send(last, "POST", &path, &zoe.secret, r#"{"reason": "mine"}"#).await;
        revoke(first, &zoe).await;
        let refused = approves.finish().await;
        assert_eq!((refused.status, refused.code().as_str()), (401, "unauthenticated"));
        for node in &nodes {
            let shown = node.get("alice", &format!("/v1/gates/{}", gate.id)).await.json();
            assert_eq!(shown["status"], "pending", "{shown}");
        }
        first.verifies().await;
    }
}

/// One mint beside one revocation, again and again, by several at once: each reads the tokens while
/// others change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_revoked_beside_a_mint_never_works_again() {
    const WORKERS: usize = 8;
    const ROUNDS: usize = 130;
    let node = std::sync::Arc::new(Node::start().await);
    let works = |node: &Node, secret: &str| {
        let (url, secret) = (node.url.clone(), secret.to_owned());
        async move { http::send(&url, "GET", "/v1/clearance", &secret, &[], "").await.status }
    };
    let mut workers: JoinSet<Vec<String>> = JoinSet::new();
    for worker in 0..WORKERS {
        let node = node.clone();
        workers.spawn(async move {
            let name = format!("worker-{worker}");
            let mut held = mint(&node, &name, "agent").await;
            let mut gone = Vec::new();
            for round in 0..ROUNDS {
                let (next, ()) = tokio::join!(mint(&node, &name, "agent"), revoke(&node, &held));
                assert_eq!(works(&node, &held.secret).await, 401, "round {round} of {name}: revoked, and it works");
                assert_eq!(
                    works(&node, &next.secret).await,
                    200,
                    "round {round} of {name}: made, and it does not work"
                );
                gone.push(std::mem::replace(&mut held, next).secret);
            }
            gone
        });
    }
    let gone: Vec<String> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(gone.len(), WORKERS * ROUNDS);
    for secret in &gone {
        assert_eq!(works(&node, secret).await, 401, "it works again");
    }
}

/// Something that a token has begun before it was revoked.
struct Begun {
    what: String,
    stream: TcpStream,
    /// Otherwise one answer is waited for.
    streams: bool,
}

impl Begun {
    async fn send(node: &Node, secret: &str, request: &str, more: &str, body: &str) -> Self {
        let host = node.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {secret}\r\ncontent-length: {}\r\n{more}\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let streams = more.contains("text/event-stream") || more.contains("websocket");
        if streams {
            let head = read_until(&mut stream, "\r\n\r\n").await;
            assert!(head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.1 101"), "{request}: {head}");
        }
        Self { what: request.to_owned(), stream, streams }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_stream_and_wait_of_a_revoked_token_ends_without_another_word() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let gate = first.opened(json!({"summary": "May I?", "timeout_ms": 3_600_000})).await;
        let question = first.asked(json!({"type": "BLOCKING", "text": "Which?", "agent_id": "somebody"})).await;
        let run = first.starts_own().await;
        let asked = plans::plan(first, 2, 2).await;
        let plan = plans::session(&asked).to_owned();
        let debate = debates::start(first, json!({"agents": 1, "gates": debates::gates(&["proposal"])})).await;
        debates::waits(first, &debate, "").await;
        let (gate, question) = (id(&gate), id(&question));
        let held_at = first.get("alice", &format!("/v1/plans/{plan}")).await.json();
        let held_at = held_at["waiting_at"].as_str().unwrap_or_else(|| panic!("{held_at}")).to_owned();
        let eve = mint(last, "eve", "admin").await;

        let close = "connection: close\r\n";
        let frames = "accept: text/event-stream\r\nconnection: close\r\n";
        let socket = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                      sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let ids = json!({"ids": [gate], "timeout_ms": 60_000}).to_string();
        let requests = [
            ("GET /v1/events".to_owned(), frames, ""),
            ("GET /v1/ws".to_owned(), socket, ""),
            ("GET /api/ws".to_owned(), socket, ""),
            ("POST /v1/gates/wait".to_owned(), frames, ids.as_str()),
            (format!("GET /v1/plans/{plan}/events"), frames, ""),
            (format!("GET /api/execute-plan?session_id={plan}"), frames, ""),
            (format!("GET /v1/debates/{debate}/events"), frames, ""),
            ("POST /v1/gates/wait".to_owned(), close, ids.as_str()),
            (format!("GET /v1/gates/{gate}/wait?timeout_ms=60000"), close, ""),
            (format!("GET /v1/questions/{question}/wait?timeout_ms=60000"), close, ""),
            ("GET /v1/clearance/wait?agent_id=somebody&timeout_ms=60000".to_owned(), close, ""),
            (format!("GET /v1/runs/{run}/wait?timeout_ms=60000"), close, ""),
            (format!("GET /v1/plans/{plan}/wait?after={}&timeout_ms=60000", held_at), close, ""),
        ];
        let mut begun = Vec::new();
        for (request, more, body) in &requests {
            begun.push(Begun::send(last, &eve.secret, request, more, body).await);
        }
        revoke(first, &eve).await;

        // Each of them would be told of one of these.
        assert_eq!(first.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await.status, 200);
        first.answers(&question, "this").await;
        assert_eq!(first.to_run("agent-a", &run, "end", json!({"status": "completed"})).await.status, 200);
        assert_eq!(plans::say(first, &asked, "approved", json!({})).await.status, 200);
        let waiting = first.get("alice", &format!("/v1/debates/{debate}")).await.json();
        let body = json!({ "request_id": waiting["waiting_at"] });
        debates::ok(first.post("alice", &format!("/v1/debates/{debate}/approve"), body).await);

        for Begun { what, mut stream, streams } in begun {
            let told = rest(&mut stream).await;
            if streams {
                for later in [
                    "gate.decided",
                    "question.answered",
                    "run.ended",
                    "proposal_approved",
                    "event: gate\n",
                    "decision_resolved",
                ] {
                    assert!(!told.contains(later), "{what} was told {later} after the revocation: {told}");
                }
            } else {
                let answer = answer(&told);
                assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"), "{what}: {told}");
            }
        }
    }
}

#[tokio::test]
async fn whoever_revokes_their_own_token_is_told_so() {
    let node = Node::start().await;
    let made = mint(&node, "adam", "admin").await;
    let path = format!("/v1/tokens/{}", made.id);
    let gone = http::send(&node.url, "DELETE", &path, &made.secret, &[], "").await;
    assert_eq!((gone.status, gone.json()["revoked_at"].is_string()), (200, true), "{gone:?}");
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &made.secret, &[], "").await.code(), "unauthenticated");
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", &token("alice"), &[], "").await.status, 200);
}
