//! One agent cannot keep people from listing, halting and deciding, whatever it opens.

use std::time::{Duration, Instant};

use folkmoot_server::Limits;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http,
    node::{Node, Setting, token},
};

/// Beyond what a test needs on a busy machine, and far below the 30 seconds that a half-sent head may take.
const PROMPT: Duration = Duration::from_secs(10);

fn few() -> Setting {
    let limits = Limits { connections: 64, requests_per_second: 100_000, ..Limits::default() };
    Setting { limits: Some(limits), ..Setting::default() }
}

async fn connect(node: &Node, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(node.url.trim_start_matches("http://")).await.unwrap();
    let _ = stream.write_all(text.as_bytes()).await;
    stream
}

fn stream_of(who: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n", token(who))
}

/// The first bytes of an answer.
async fn status(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read_exact(&mut line)).await;
    match read.expect("it is answered or closed") {
        Ok(_) => String::from_utf8_lossy(&line[9..]).into_owned(),
        Err(_) => "closed".to_owned(),
    }
}

/// A reviewer and an admin list, decide and halt.
async fn people_get_through(node: &Node, gate: &str) {
    let began = Instant::now();
    assert_eq!(node.get("alice", "/v1/gates").await.status, 200);
    let decided = node.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await;
    assert_eq!(decided.status, 200, "{decided:?}");
    let halted = node.post("root-of-all", "/v1/halts", json!({"scope": "all", "reason": "enough"})).await;
    assert_eq!(halted.status, 201, "{halted:?}");
    assert!(began.elapsed() < PROMPT, "it took {:?}", began.elapsed());
}

#[tokio::test]
async fn people_decide_and_halt_while_one_agent_opens_as_many_streams_and_waits_as_it_can() {
    let node = Node::with(few()).await;
    let gate = node.open("x").await.id;
    let mut streams = Vec::new();
    for n in 0..200 {
        let path = if n % 2 == 0 { "/v1/events".to_owned() } else { format!("/v1/gates/{gate}/wait?timeout_ms=60000") };
        streams.push(connect(&node, &stream_of("agent-a", &path)).await);
    }
    people_get_through(&node, gate.as_str()).await;
    let mut told = Vec::new();
    for stream in &mut streams {
        told.push(status(stream).await);
    }
    let streaming = told.iter().filter(|status| *status == "200").count();
    assert!((1..=32).contains(&streaming), "{streaming} of 64 connections are one agent's: {told:?}");
    assert!(told.iter().any(|status| status == "429"), "{told:?}");
}

#[tokio::test]
async fn people_decide_and_halt_while_all_agents_together_open_as_many_streams_as_they_can() {
    let node = Node::with(few()).await;
    let gate = node.open("x").await.id;
    let mut streams = Vec::new();
    for n in 0..200 {
        let who = ["agent-a", "agent-b", "monitor", "vera"][n % 4];
        streams.push(connect(&node, &stream_of(who, "/v1/events")).await);
    }
    people_get_through(&node, gate.as_str()).await;
    let mut streaming = 0;
    for stream in &mut streams {
        streaming += usize::from(status(stream).await == "200");
    }
    assert!(streaming <= 48, "{streaming} of 64 connections are taken by those who do not decide");
}

#[tokio::test]
async fn people_decide_and_halt_while_half_sent_heads_without_a_token_take_every_connection() {
    let node = Node::with(few()).await;
    let gate = node.open("x").await.id;
    let mut open = Vec::new();
    for n in 0..300 {
        let begun = if n % 2 == 0 { "" } else { "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: " };
        open.push(connect(&node, begun).await);
    }
    people_get_through(&node, gate.as_str()).await;
}

#[tokio::test]
async fn people_decide_and_halt_while_one_agent_sends_many_bodies_slowly() {
    let node = Node::with(few()).await;
    let gate = node.open("x").await.id;
    let head = format!(
        "POST /v1/gates HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: 100\r\n\r\n{{",
        token("agent-a")
    );
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(connect(&node, &head).await);
    }
    people_get_through(&node, gate.as_str()).await;
}

#[tokio::test]
async fn a_stream_is_not_closed_for_a_newcomer_and_a_silent_connection_is() {
    let limits = Limits { connections: 4, connections_per_principal: Some(0), ..Limits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let mut stream = connect(&node, &stream_of("alice", "/v1/events")).await;
    assert_eq!(status(&mut stream).await, "200");
    let mut silent = connect(&node, "").await;
    for _ in 0..10 {
        drop(connect(&node, "GET /").await);
        let _hold = connect(&node, "GET /").await;
        assert_eq!(node.get("bob", "/v1/gates").await.status, 200);
    }
    // Its answer's head comes in one piece with the first event's id, so there is more to read; then it goes on.
    let mut rest = vec![0; 4096];
    let read = stream.read(&mut rest).await.unwrap();
    assert!(read > 0, "the stream was closed");
    let mut more = vec![0; 4096];
    let gate = node.open("x").await;
    let heard = tokio::time::timeout(Duration::from_secs(60), async {
        let mut text = String::new();
        while !text.contains(gate.id.as_str()) {
            let read = stream.read(&mut more).await.unwrap();
            assert!(read > 0, "the stream was closed: {text}");
            text += &String::from_utf8_lossy(&more[..read]);
        }
    });
    heard.await.expect("the stream goes on");
    let closed = tokio::time::timeout(Duration::from_secs(60), silent.read(&mut rest)).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "the silent one is still there");
}

#[tokio::test]
async fn bad_tokens_from_one_address_are_told_to_wait_and_valid_ones_from_there_are_not() {
    let node = Node::start().await;
    let mut told = Vec::new();
    for n in 0..80 {
        let answer = http::send(&node.url, "GET", "/v1/gates", &format!("guess-{n}-0123456789"), &[], "").await;
        told.push((answer.status, answer.code()));
        if answer.status == 429 {
            assert!(answer.head.contains("retry-after: 60"), "{answer:?}");
        }
    }
    assert_eq!(told[0], (401, "unauthenticated".to_owned()));
    assert_eq!(told[79], (429, "too_many_bad_tokens".to_owned()));
    assert_eq!(node.get("alice", "/v1/gates").await.status, 200);
    // Whoever sends none at all guesses nothing.
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", "", &[], "").await.status, 401);
}
