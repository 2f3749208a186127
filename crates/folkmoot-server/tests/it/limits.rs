//! What is limited, and that ending ends everything.

use std::time::{Duration, Instant};

use folkmoot_server::ServerLimits;
use futures_util::StreamExt;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http,
    node::{Node, Setting, token},
};

fn limits(limits: ServerLimits) -> Setting {
    Setting { limits: Some(limits), ..Setting::default() }
}

#[tokio::test]
async fn a_principal_that_asks_too_often_is_told_to_wait_and_others_are_not() {
    let node = Node::with(limits(ServerLimits { requests_per_second: 5, ..ServerLimits::default() })).await;
    let mut refused = 0;
    for _ in 0..20 {
        let answer = node.get("alice", "/v1/gates").await;
        if answer.status == 429 {
            assert_eq!(answer.code(), "too_many_requests");
            assert!(answer.head.contains("retry-after: 1"));
            refused += 1;
        }
    }
    assert!(refused >= 5, "only {refused} of 20 were refused");
    assert_eq!(node.get("bob", "/v1/gates").await.status, 200);
}

#[tokio::test]
async fn a_client_that_is_slow_with_its_headers_is_cut_off() {
    let node = Node::with(limits(ServerLimits { header_timeout_ms: 300, ..ServerLimits::default() })).await;
    let mut stream = TcpStream::connect(node.url.trim_start_matches("http://")).await.unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ").await.unwrap();
    let began = Instant::now();
    let mut rest = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(120), stream.read_to_end(&mut rest)).await.expect("it is cut off");
    assert!(began.elapsed() < Duration::from_secs(25), "the usual 30 seconds");
}

#[tokio::test]
async fn a_client_that_is_slow_with_its_body_is_cut_off() {
    let node = Node::with(limits(ServerLimits { body_timeout_ms: 300, ..ServerLimits::default() })).await;
    let head = format!("POST /v1/gates HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n", token("agent-a"));
    let answer = http::raw(&node.url, format!("{head}content-length: 100\r\n\r\n{{").as_bytes()).await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_timeout"));
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_is_dropped_and_the_server_goes_on() {
    let node = Node::with(limits(ServerLimits {
        write_timeout_ms: 300,
        requests_per_second: 100_000,
        ..ServerLimits::default()
    }))
    .await;
    let mut deaf = TcpStream::connect(node.url.trim_start_matches("http://")).await.unwrap();
    let request = format!(
        "GET /v1/events?after=0 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        token("vera")
    );
    deaf.write_all(request.as_bytes()).await.unwrap();
    // More than the buffers of both sides hold.
    let long = "x".repeat(12_000);
    for n in 0..600 {
        let reason = format!("{n} {long}");
        let gate = node.open("x").await;
        node.post("alice", &format!("/v1/gates/{}/reject", gate.id), json!({ "reason": reason })).await;
    }
    tokio::time::sleep(Duration::from_millis(1000)).await;
    let mut received = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(120), deaf.read_to_end(&mut received)).await;
    assert!(read.is_ok(), "the connection is still open");
    assert!(!String::from_utf8_lossy(&received).contains("599 xxx"), "it was never behind");
}

#[tokio::test]
async fn more_connections_than_allowed_wait_their_turn_while_each_is_in_use() {
    let node = Node::with(limits(ServerLimits { connections: 2, ..ServerLimits::default() })).await;
    let mut streams = Vec::new();
    for who in ["alice", "bob"] {
        let mut feed = Box::pin(node.client(who).events(Some(0)).await.unwrap());
        assert!(feed.next().await.is_some());
        streams.push(feed);
    }
    let url = node.url.clone();
    let third = tokio::spawn(async move { http::send(&url, "GET", "/healthz", "", &[], "").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!third.is_finished(), "the third is served although two are allowed");
    drop(streams);
    assert_eq!(third.await.unwrap().status, 200);
}

#[tokio::test]
async fn ending_ends_open_streams_and_waits_and_loses_nothing() {
    let node = Node::start().await;
    let gate = node.open("x").await;
    let mut feed = Box::pin(node.client("vera").events(Some(0)).await.unwrap());
    assert!(feed.next().await.is_some());
    let agent = node.client("agent-a");
    let id = gate.id.clone();
    let waiting = tokio::spawn(async move { agent.wait_gate(&id, Duration::from_secs(50)).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let began = Instant::now();
    let data = node.stop().await;
    assert!(began.elapsed() < Duration::from_secs(30), "it took {:?}", began.elapsed());
    assert!(waiting.await.unwrap().unwrap().decision.is_none(), "the waiter is told that it is still pending");
    while feed.next().await.is_some() {}
    assert!(!data.path().join("server.json").exists());
    let node = Node::on(data, Setting::default()).await;
    assert_eq!(node.client("vera").gate(&gate.id).await.unwrap().id, gate.id);
}
