//! The feed over WebSockets: what server-sent events promise, and what a socket adds to be careful
//! about.

mod api;
mod limits;
mod who;

use std::{sync::Arc, time::Duration};

use folkmoot_api::wire::OpenGate;
use folkmoot_server::ServerLimits;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{io::AsyncReadExt, net::TcpStream};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        http::{HeaderName, HeaderValue},
        protocol::frame::coding::CloseCode,
    },
};

use crate::{
    feed::writers,
    node::{Node, Setting, everywhere, token},
};

/// How long anything here may take.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A client's end of a socket.
struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// As one of the people, with their token in the usual header.
    async fn open(node: &Node, who: &str, path: &str) -> Self {
        let authorization = format!("Bearer {}", token(who));
        Self::knock(node, path, &[("authorization", &authorization)]).await.expect("it opens").0
    }

    /// With these headers. `Err` has the status and the code of the answer.
    async fn knock(node: &Node, path: &str, headers: &[(&str, &str)]) -> Result<(Self, Option<String>), (u16, String)> {
        let url = format!("{}{path}", node.url.replace("http:", "ws:"));
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        match tokio_tungstenite::connect_async(request).await {
            Ok((stream, answer)) => {
                let protocol = answer.headers().get("sec-websocket-protocol");
                Ok((Self(stream), protocol.map(|protocol| protocol.to_str().unwrap().to_owned())))
            }
            Err(Error::Http(answer)) => {
                let body = answer.body().as_deref().unwrap_or_default();
                let problem: Value = serde_json::from_slice(body).unwrap_or_default();
                Err((answer.status().as_u16(), problem["code"].as_str().unwrap_or_default().to_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The next frame that says something.
    async fn frame(&mut self) -> Value {
        loop {
            match self.next().await {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).expect("JSON"),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("a frame was expected: {other:?}"),
            }
        }
    }

    /// Whatever comes next.
    async fn next(&mut self) -> Result<Message, Error> {
        let next = tokio::time::timeout(TEST_TIMEOUT, self.0.next()).await.expect("something comes");
        next.unwrap_or(Err(Error::ConnectionClosed))
    }

    async fn send(&mut self, message: Message) {
        self.0.send(message).await.expect("it is sent");
    }

    /// With which code, and which words, the server closes it.
    async fn closed(&mut self) -> (CloseCode, String) {
        loop {
            match self.next().await {
                Ok(Message::Close(Some(frame))) => return (frame.code, frame.reason.to_string()),
                Ok(_) => {}
                Err(error) => panic!("it ended without a word: {error}"),
            }
        }
    }
}

/// As the subscriber of server-sent events in `feed.rs`: it drops its connection every few events
/// and comes back with its position, by the query or by a frame, while hundreds of writers commit;
/// it sees every event exactly once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_comes_back_with_its_position_misses_nothing() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let mut writers = writers(&nodes, 60);
        let (mut position, mut drops, mut decided) = (0, 0, 0);
        while decided < 180 {
            // Another node each time: one number is the position on all of them.
            let node = &nodes[drops % nodes.len()];
            let mut socket = if drops % 2 == 0 {
                Socket::open(node, "vera", &format!("/v1/ws?after={position}")).await
            } else {
                let mut socket = Socket::open(node, "vera", "/v1/ws").await;
                // Where it begins by itself, which may happen to be the same: then this is not the
                // answer yet.
                assert!(socket.frame().await["position"].is_u64());
                socket.send(Message::text(json!({ "after": position }).to_string())).await;
                socket
            };
            // What came before the answer to that is not what was asked for.
            while socket.frame().await != json!({ "position": position }) {}
            drops += 1;
            for _ in 0..23 {
                let event = socket.frame().await;
                assert_eq!(event["position"], position + 1, "dense, in order, once");
                position += 1;
                decided += usize::from(event["type"] == "gate.decided");
                if decided == 180 {
                    break;
                }
            }
        }
        while let Some(done) = writers.join_next().await {
            done.unwrap();
        }
        assert!(drops > 10, "it was hardly ever dropped");
        nodes[0].verifies().await;
    }
}

#[tokio::test]
async fn a_frame_is_what_the_other_feed_has_as_data() {
    for nodes in everywhere().await {
        let node = nodes.first().unwrap();
        let mut socket = Socket::open(nodes.last().unwrap(), "vera", "/v1/ws?after=0").await;
        let mut feed = Box::pin(node.client("vera").events(Some(0)).await.unwrap());
        node.open("x").await;
        assert_eq!(socket.frame().await, json!({ "position": 0 }));
        for _ in 0..5 {
            let event = feed.next().await.unwrap().unwrap();
            assert_eq!(socket.frame().await, serde_json::to_value(&event).unwrap());
        }
    }
}

#[tokio::test]
async fn a_new_subscriber_begins_now_and_agents_see_their_own() {
    for nodes in everywhere().await {
        let node = nodes.first().unwrap();
        node.open("before").await;
        let mut all = Socket::open(node, "vera", "/v1/ws").await;
        let mut theirs = Socket::open(nodes.last().unwrap(), "agent-b", "/v1/ws?after=0").await;
        let end = all.frame().await["position"].as_u64().unwrap();
        assert_eq!(theirs.frame().await, json!({ "position": 0 }));
        let gate = node.open("after").await;
        let event = all.frame().await;
        assert_eq!((&event["position"], &event["stream"]), (&json!(end + 1), &json!(gate.id)));
        let open = OpenGate { summary: "theirs".to_owned(), ..OpenGate::default() };
        let own = node.client("agent-b").open_gate(&open, None).await.unwrap();
        assert_eq!(theirs.frame().await["stream"], json!(own.id), "and nothing of agent-a's before it");
    }
}

#[tokio::test]
async fn ending_says_goodbye_and_waits_for_no_socket() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node, "vera", "/v1/ws?after=0").await;
    socket.frame().await;
    let began = std::time::Instant::now();
    let (stopped, closed) = tokio::join!(node.stop(), async {
        let closed = socket.closed().await;
        let _ = socket.0.close(None).await;
        closed
    });
    assert_eq!(closed.0, CloseCode::Away, "{closed:?}");
    assert!(began.elapsed() < Duration::from_secs(60), "it took {:?}", began.elapsed());
    drop(stopped);
}

#[tokio::test]
async fn whoever_closes_is_answered() {
    let node = Node::start().await;
    let mut socket = Socket::open(&node, "vera", "/v1/ws").await;
    socket.frame().await;
    socket.0.close(None).await.unwrap();
    loop {
        match socket.next().await {
            Ok(_) => {}
            Err(Error::ConnectionClosed) => break,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Everyone who says nothing is asked whether they are still there.
#[tokio::test]
async fn a_silent_socket_is_pinged_and_one_that_never_answers_is_dropped() {
    let limits = ServerLimits { heartbeat_ms: 100, ..ServerLimits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let mut lively = Socket::open(&node, "vera", "/v1/ws").await;
    lively.frame().await;
    let mut dead = limits::upgraded(&node).await;
    let mut heard = Vec::new();
    let ended = dead.read_to_end(&mut heard);
    tokio::pin!(ended);
    let mut pings = 0;
    loop {
        tokio::select! {
            ended = &mut ended => break drop(ended),
            // A client answers pings while it reads.
            message = lively.next() => match message.unwrap() {
                Message::Ping(_) => pings += 1,
                message => panic!("nothing else was said: {message:?}"),
            },
        }
        assert!(pings < 50, "the one that never answers is still there");
    }
    assert!(pings >= 3, "{pings}");
    assert!(String::from_utf8_lossy(&heard).contains("you answer no ping"), "{heard:?}");
    node.open("x").await;
    assert_eq!(lively.frame().await["type"], "gate.opened");
}
