//! What a client may send, and how slowly it may read.

use std::time::{Duration, Instant};

use folkmoot_api::wire::{OpenGate, Verdict};
use folkmoot_core::gate::Choice;
use folkmoot_server::ServerLimits;
use futures_util::SinkExt;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};
use tokio_tungstenite::tungstenite::{
    Bytes, Message,
    protocol::frame::{
        Frame,
        coding::{CloseCode, Data, OpCode},
    },
};

use super::Socket;
use crate::{
    http,
    node::{Node, Setting, token},
};

const MEBIBYTE: usize = 1 << 20;

#[tokio::test]
async fn what_a_client_sends_that_makes_no_sense_closes_its_socket_and_no_other() {
    let node = Node::start().await;
    let mut other = Socket::open(&node, "vera", "/v1/ws?after=0").await;
    other.frame().await;
    let padded = |length: usize| {
        let after = r#"{"after":0}"#;
        Message::text(format!("{after}{}", " ".repeat(length - after.len())))
    };
    let fragment = |text: &'static str, opcode, last| Message::Frame(Frame::message(text, OpCode::Data(opcode), last));
    #[rustfmt::skip]
    let cases: Vec<(&str, Vec<Message>, Option<CloseCode>)> = vec![
        ("a position", vec![Message::text(r#"{"after": 0}"#)], None),
        ("as much as fits", vec![padded(MEBIBYTE)], None),
        ("in fragments", vec![fragment(r#"{"aft"#, Data::Text, false), fragment("", Data::Continue, false),
            fragment(r#"er": 0}"#, Data::Continue, true)], None),
        ("a byte too much", vec![padded(MEBIBYTE + 1)], Some(CloseCode::Size)),
        ("far too much", vec![padded(3 * MEBIBYTE)], Some(CloseCode::Size)),
        ("too much in fragments", (0..3).map(|n| Message::Frame(Frame::message(vec![b' '; MEBIBYTE / 2],
            OpCode::Data(if n == 0 { Data::Text } else { Data::Continue }), n == 2))).collect(), Some(CloseCode::Size)),
        ("bytes", vec![Message::binary(vec![1, 2, 3])], Some(CloseCode::Unsupported)),
        ("no JSON", vec![Message::text("hello")], Some(CloseCode::Policy)),
        ("another object", vec![Message::text(r#"{"before": 1}"#)], Some(CloseCode::Policy)),
        ("a negative position", vec![Message::text(r#"{"after": -1}"#)], Some(CloseCode::Policy)),
        ("a position that is not there", vec![Message::text(r#"{"after": 4711}"#)], Some(CloseCode::Policy)),
        ("text that is none", vec![Message::Frame(Frame::message(vec![0xff, 0xfe], OpCode::Data(Data::Text), true))],
            Some(CloseCode::Invalid)),
        ("the end of nothing", vec![fragment("x", Data::Continue, true)], Some(CloseCode::Protocol)),
    ];
    for (what, messages, expected) in cases {
        let mut socket = Socket::open(&node, "vera", "/v1/ws").await;
        socket.frame().await;
        for message in messages {
            // The server may close before all is sent.
            let _ = socket.0.send(message).await;
        }
        match expected {
            Some(code) => assert_eq!(socket.closed().await.0, code, "{what}"),
            None => assert_eq!(socket.frame().await, json!({ "position": 0 }), "{what}"),
        }
    }
    node.open("x").await;
    assert_eq!(other.frame().await["position"], 1);
}

#[tokio::test]
async fn noise_after_the_upgrade_closes_the_connection() {
    let node = Node::start().await;
    for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0x81, 0x02, b'h', b'i'], &[0x83, 0x80, 0, 0, 0, 0]] {
        let mut stream = upgraded(&node).await;
        stream.write_all(noise).await.unwrap();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(120), stream.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "it is still open after {noise:?}");
        // A close frame with code 1002.
        assert!(rest.windows(2).any(|window| window == 1002_u16.to_be_bytes()), "{noise:?}: {rest:?}");
    }
}

/// Each ping costs an answer, so only so many are answered.
#[tokio::test]
async fn a_flood_of_pings_is_ended() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node, "vera", "/v1/ws").await;
    socket.frame().await;
    let began = Instant::now();
    for n in 0..100_000_u32 {
        if socket.0.feed(Message::Ping(Bytes::copy_from_slice(&n.to_be_bytes()))).await.is_err() {
            break;
        }
    }
    let _ = socket.0.flush().await;
    let (mut pongs, mut closed) = (0, None);
    while let Ok(message) = socket.next().await {
        match message {
            Message::Pong(_) => pongs += 1,
            Message::Close(frame) => closed = frame.map(|frame| frame.code),
            _ => {}
        }
    }
    assert_eq!(closed, Some(CloseCode::Policy));
    assert!(pongs <= 60, "{pongs} pings were answered");
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    // A few are answered, of course.
    let mut polite = Socket::open(&node, "vera", "/v1/ws").await;
    polite.frame().await;
    polite.send(Message::Ping(Bytes::from_static(b"there?"))).await;
    assert_eq!(polite.next().await.unwrap(), Message::Pong(Bytes::from_static(b"there?")));
}

/// A message that goes on and on in fragments of nothing is never complete, and so never counted as
/// one.
#[tokio::test]
async fn a_message_that_never_ends_is_ended() {
    let node = Node::start().await;
    let mut stream = upgraded(&node).await;
    // Text, not final, empty, masked; then continuations of the same kind.
    stream.write_all(&[0x01, 0x80, 0, 0, 0, 0]).await.unwrap();
    let fragments = [0x00, 0x80, 0, 0, 0, 0].repeat(10_000);
    let began = Instant::now();
    let mut sent = 0;
    while stream.write_all(&fragments).await.is_ok() {
        sent += fragments.len();
        assert!(sent < 64 * MEBIBYTE, "it was never ended");
    }
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
}

#[tokio::test]
async fn a_socket_that_does_not_read_is_dropped_and_can_come_back() {
    let limits = ServerLimits { write_timeout_ms: 300, requests_per_second: 100_000, ..ServerLimits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let mut deaf = upgraded(&node).await;
    // More than the buffers of both sides hold: each of these characters is six on the wire.
    let long = "\u{1}".repeat(16_000);
    let mut writers = JoinSet::new();
    for n in 0..80 {
        let (reviewer, agent) = (node.client("alice"), node.client("agent-a"));
        let verdict = Verdict { reason: Some(format!("{n} {long}")), ..Verdict::default() };
        writers.spawn(async move {
            let open = OpenGate { summary: "x".to_owned(), ..OpenGate::default() };
            let gate = agent.open_gate(&open, None).await.unwrap();
            reviewer.decide(&gate.id, Choice::Reject, &verdict, None).await.unwrap();
        });
    }
    writers.join_all().await;
    let end = node.get("vera", "/v1/audit/verify").await.json()["events"].as_u64().unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut received = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(120), deaf.read_to_end(&mut received)).await;
    assert!(read.is_ok(), "the connection is still open");
    let last = format!("{{\"position\":{end},");
    assert!(!received.windows(last.len()).any(|window| window == last.as_bytes()), "it was never behind");
    let mut back = Socket::open(&node, "vera", &format!("/v1/ws?after={}", end - 1)).await;
    back.frame().await;
    assert_eq!(back.frame().await["position"], end);
}

#[tokio::test]
async fn sockets_are_connections_and_take_the_place_of_others() {
    let limits = ServerLimits { connections: 1, ..ServerLimits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let mut socket = Socket::open(&node, "vera", "/v1/ws").await;
    socket.frame().await;
    let url = node.url.clone();
    let second = tokio::spawn(async move { http::send(&url, "GET", "/healthz", "", &[], "").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!second.is_finished(), "the second is served although one is allowed");
    drop(socket);
    assert_eq!(second.await.unwrap().status, 200);
}

/// A socket whose bytes are this test's own.
pub(super) async fn upgraded(node: &Node) -> TcpStream {
    let mut stream = TcpStream::connect(node.url.trim_start_matches("http://")).await.unwrap();
    let head = format!(
        "GET /v1/ws?after=0 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\n\
         upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        token("vera")
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    assert!(answer.to_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{answer}");
    stream
}
