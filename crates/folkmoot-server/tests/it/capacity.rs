//! One agent cannot keep people from listing, halting and deciding, whatever it opens.

use std::time::{Duration, Instant};

use folkmoot_server::ServerLimits;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    halting::id,
    http,
    node::{Node, Setting, everywhere_with, token},
    runs::with_workflows,
};

/// Beyond what a test needs on a busy machine, and far below the 30 seconds that a half-sent head
/// may take.
const PROMPT: Duration = Duration::from_secs(10);

fn few() -> Setting {
    let limits = ServerLimits { connections: 64, requests_per_second: 100_000, ..ServerLimits::default() };
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
    let limits = ServerLimits { connections: 4, connections_per_principal: Some(0), ..ServerLimits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let mut stream = connect(&node, &stream_of("alice", "/v1/events")).await;
    assert_eq!(status(&mut stream).await, "200");
    let mut silent = connect(&node, "").await;
    for _ in 0..10 {
        drop(connect(&node, "GET /").await);
        let _hold = connect(&node, "GET /").await;
        assert_eq!(node.get("bob", "/v1/gates").await.status, 200);
    }
    // Its answer's head comes in one piece with the first event's id, so there is more to read;
    // then it goes on.
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
    for n in 0..400 {
        let answer = http::send(&node.url, "GET", "/v1/gates", &format!("guess-{n}-0123456789"), &[], "").await;
        told.push((answer.status, answer.code()));
        if answer.status == 429 {
            assert!(answer.head.contains("retry-after: 60"), "{answer:?}");
        }
    }
    assert_eq!(told[0], (401, "unauthenticated".to_owned()));
    assert_eq!(told[399], (429, "too_many_bad_tokens".to_owned()));
    assert_eq!(node.get("alice", "/v1/gates").await.status, 200);
    // Whoever sends none at all guesses nothing.
    assert_eq!(http::send(&node.url, "GET", "/v1/gates", "", &[], "").await.status, 401);
}

async fn asked(node: &Node, who: &str) -> String {
    let answer = node.post(who, "/v1/questions", json!({"type": "APPROVAL", "text": "may I?"})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn limited(limits: ServerLimits) -> Setting {
    Setting { limits: Some(ServerLimits { requests_per_second: 1_000_000, ..limits }), ..Setting::default() }
}

#[tokio::test]
async fn an_agent_has_so_many_gates_bytes_and_questions_waiting_and_no_more() {
    let limits = || ServerLimits {
        pending_gates_per_agent: 3,
        pending_bytes_per_agent: 1000,
        open_questions_per_agent: 2,
        open_runs_per_agent: 2,
        ..ServerLimits::default()
    };
    for nodes in everywhere_with(|| limited(limits())).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let long = |bytes: usize| json!([{"name": "a", "media_type": "text/plain", "content": "x".repeat(bytes)}]);
        let open = |who: &'static str, bytes: usize| {
            let body = json!({"summary": "x", "artifacts": if bytes == 0 { json!([]) } else { long(bytes) }});
            async move { last.post(who, "/v1/gates", body).await }
        };
        let gate = open("agent-a", 600).await;
        assert_eq!(gate.status, 201, "{gate:?}");
        let too_long = open("agent-a", 600).await;
        assert_eq!((too_long.status, too_long.code().as_str()), (409, "too_many_open"), "{too_long:?}");
        assert_eq!(open("agent-a", 300).await.status, 201);
        assert_eq!(open("agent-a", 0).await.status, 201);
        let too_many = open("agent-a", 0).await;
        assert_eq!((too_many.status, too_many.code().as_str()), (409, "too_many_open"), "{too_many:?}");
        // Nor by amending what is there.
        let path = format!("/v1/gates/{}", gate.json()["id"].as_str().unwrap());
        let amended = first.send("agent-a", "PATCH", &path, json!({"artifacts": long(900)})).await;
        assert_eq!((amended.status, amended.code().as_str()), (409, "too_many_open"), "{amended:?}");
        // It is each agent's own limit, and none for people. What is decided counts no more.
        assert_eq!(open("agent-b", 600).await.status, 201);
        for _ in 0..5 {
            assert_eq!(open("alice", 600).await.status, 201);
        }
        assert_eq!(first.post("alice", &format!("{path}/approve"), json!({})).await.status, 200);
        assert_eq!(open("agent-a", 600).await.status, 201);
        assert_eq!(open("agent-a", 0).await.status, 409);
        let ask = || last.post("agent-a", "/v1/questions", json!({"type": "CLARIFYING", "text": "which?"}));
        assert_eq!((ask().await.status, ask().await.status), (201, 201));
        let too_many = ask().await;
        assert_eq!((too_many.status, too_many.code().as_str()), (409, "too_many_open"), "{too_many:?}");
        let plan = |who: &'static str| last.post(who, "/v1/plans", json!({"goal": "a bakery", "max_iterations": 2}));
        let started = plan("agent-a").await;
        assert_eq!((started.status, plan("agent-a").await.status), (202, 202), "{started:?}");
        let too_many = plan("agent-a").await;
        assert_eq!((too_many.status, too_many.code().as_str()), (409, "too_many_open"), "{too_many:?}");
        assert_eq!(plan("alice").await.status, 202);
        // A run that the agent executes itself costs nothing here.
        assert_eq!(last.post("agent-a", "/v1/runs", json!({"title": "own"})).await.status, 201);
        let path = format!("/v1/runs/{}/cancel", started.json()["id"].as_str().unwrap());
        assert_eq!(first.post("alice", &path, json!({})).await.status, 200);
        assert_eq!(plan("agent-a").await.status, 202);
        first.verifies().await;
    }
}

#[tokio::test]
async fn who_may_halt_and_not_lift_has_so_many_halts_standing_and_no_more() {
    let limits = || ServerLimits { halts_per_principal: 3, ..ServerLimits::default() };
    for nodes in everywhere_with(|| limited(limits())).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let halt = json!({"scope": "agent", "agent_id": "agent-b", "reason": "enough"});
        let raise = |who: &'static str| last.post(who, "/v1/halts", halt.clone());
        let raised = futures_util::future::join_all((0..20).map(|_| raise("monitor"))).await;
        let standing: Vec<_> = raised.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(standing.len(), 3, "{raised:?}");
        assert!(raised.iter().all(|answer| answer.status == 201 || answer.code() == "too_many_open"), "{raised:?}");
        // An admin, who lifts them, has no limit.
        for _ in 0..5 {
            assert_eq!(raise("root-of-all").await.status, 201);
        }
        let path = format!("/v1/halts/{}", standing[0].json()["id"].as_str().unwrap());
        assert_eq!(first.delete("root-of-all", &path).await.status, 200);
        assert_eq!((raise("monitor").await.status, raise("monitor").await.status), (201, 409));
        // People see who raised each; agents do not.
        let listed = first.get("alice", "/v1/halts").await.json();
        let by: Vec<_> = listed["held_by"]["agents"]["agent-b"].as_array().unwrap().iter().collect();
        assert_eq!(by.iter().filter(|hold| hold["raised_by"] == "monitor").count(), 3, "{listed:#}");
        assert!(!first.get("agent-b", "/v1/halts").await.body.contains("raised_by"));
        first.verifies().await;
    }
}

#[tokio::test]
async fn an_agent_sends_no_more_bytes_than_its_share_and_people_send_any_number() {
    let limits = ServerLimits { bytes_per_hour_per_agent: 100 << 10, ..ServerLimits::default() };
    let node = Node::with(limited(limits)).await;
    let artifacts = json!([{"name": "a", "media_type": "text/plain", "content": "x".repeat(60 << 10)}]);
    let open = |who: &'static str| node.post(who, "/v1/gates", json!({"summary": "x", "artifacts": artifacts.clone()}));
    let gate = open("agent-a").await;
    assert_eq!(gate.status, 201, "{gate:?}");
    let path = format!("/v1/gates/{}/cancel", gate.json()["id"].as_str().unwrap());
    assert_eq!(node.post("agent-a", &path, json!({})).await.status, 200);
    // What was withdrawn is still on the disk.
    let refused = open("agent-a").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many_bytes"), "{refused:?}");
    assert_eq!((open("agent-b").await.status, open("alice").await.status, open("alice").await.status), (201, 201, 201));
    // A little is still left, to ask somebody.
    assert_eq!(node.post("agent-a", "/v1/questions", json!({"type": "CLARIFYING", "text": "?"})).await.status, 201);
}

/// All at once, too: it is judged in the transaction.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_opens_many_gates_at_once_gets_no_more_than_its_limit() {
    for nodes in
        everywhere_with(|| limited(ServerLimits { pending_gates_per_agent: 10, ..ServerLimits::default() })).await
    {
        let opening = (0..60).map(|n| {
            let node = &nodes[n % nodes.len()];
            node.post("agent-a", "/v1/gates", json!({"summary": format!("gate {n}")}))
        });
        let opened = futures_util::future::join_all(opening).await;
        assert_eq!(opened.iter().filter(|answer| answer.status == 201).count(), 10);
        assert!(opened.iter().all(|answer| answer.status == 201 || answer.code() == "too_many_open"));
    }
}

/// How long the longest of `count` calls takes that are made all at once.
async fn longest<C: Future<Output = http::Answer>>(count: usize, call: impl Fn() -> C) -> Duration {
    let times = (0..count).map(async |_| {
        let began = Instant::now();
        let answer = call().await;
        assert!(matches!(answer.status, 200 | 201 | 409), "{answer:?}");
        began.elapsed()
    });
    futures_util::future::join_all(times).await.into_iter().max().unwrap()
}

/// How long a call of `many`, and one that is made a moment later, take.
async fn beside<C, O>(many: impl Fn() -> C, one: impl Fn() -> O) -> (Duration, Duration)
where
    C: Future<Output = http::Answer>,
    O: Future<Output = http::Answer>,
{
    tokio::join!(longest(400, many), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        longest(1, one).await
    })
}

/// Behind all of the agent's calls a person's would take about as long as the slowest of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persons_reads_and_writes_do_not_queue_behind_all_that_one_agent_sends_at_once() {
    let limits = ServerLimits { requests_per_second: 100_000, ..ServerLimits::default() };
    for nodes in everywhere_with(|| limited(limits.clone())).await {
        let node = &nodes[0];
        assert_eq!(node.post("agent-a", "/v1/runs", json!({"id": "busy", "title": "x"})).await.status, 201);
        let question = json!({"run_id": "busy", "type": "CLARIFYING", "text": "x".repeat(2000)});
        longest(400, || node.post("agent-a", "/v1/questions", question.clone())).await;
        // Each is judged with all of the run's questions, and refused for them.
        let end = || node.post("agent-a", "/v1/runs/busy/end", json!({"status": "completed"}));
        let halt = json!({"scope": "agent", "agent_id": "agent-b", "reason": "enough"});
        let (ended, halted) = beside(end, || node.post("root-of-all", "/v1/halts", halt.clone())).await;
        assert!(halted * 2 < ended, "a halt took {halted:?}, the agent's ends {ended:?}");
        let page = || node.get("agent-a", "/v1/questions?limit=100");
        let (read, seen) = beside(page, || node.get("alice", "/v1/questions?limit=1")).await;
        assert!(seen * 2 < read, "a person's page took {seen:?}, the agent's {read:?}");
    }
}

#[tokio::test]
async fn a_page_of_long_texts_is_short_and_an_agent_that_does_not_read_its_pages_gets_no_more_of_them() {
    for nodes in everywhere_with(few).await {
        let node = &nodes[0];
        for _ in 0..20 {
            let long = "x".repeat(250_000);
            assert_eq!(node.post("agent-a", "/v1/gates", json!({"summary": long.clone()})).await.status, 201);
            let question = json!({"type": "CLARIFYING", "text": long});
            assert_eq!(node.post("agent-a", "/v1/questions", question).await.status, 201);
        }
        for noun in ["gates", "questions"] {
            let (mut seen, mut path) = (0, format!("/v1/{noun}?limit=500&status=pending"));
            loop {
                let page = node.get("agent-a", &path).await;
                assert!(page.body.len() < 5 << 20, "{} bytes", page.body.len());
                seen += page.json()[noun].as_array().unwrap().len();
                let Some(next) = page.json()["next"].as_str().map(str::to_owned) else { break };
                path = format!("/v1/{noun}?limit=500&status=pending&cursor={next}");
            }
            assert_eq!(seen, 20, "{noun}");
        }
        assert_eq!(answered_unread(node, &stream_of("agent-a", "/v1/gates?limit=500")).await, 2);
        assert_eq!(node.get("agent-a", "/v1/gates?limit=1").await.status, 200);
    }
}

/// How many of ten requests are answered that arrive on connections of which only the first bytes
/// are read.
async fn answered_unread(node: &Node, request: &str) -> usize {
    let mut unread = Vec::new();
    for _ in 0..10 {
        unread.push(connect(node, request).await);
    }
    let answered = futures_util::future::join_all(unread.iter_mut().map(async |stream| {
        let mut line = [0; 12];
        tokio::time::timeout(Duration::from_secs(2), stream.read_exact(&mut line)).await.is_ok()
    }));
    answered.await.into_iter().filter(|answered| *answered).count()
}

#[tokio::test]
async fn an_agent_that_does_not_read_long_answers_about_its_run_gets_no_more_of_them() {
    for nodes in everywhere_with(few).await {
        let node = &nodes[0];
        assert_eq!(node.post("agent-a", "/v1/runs", json!({"id": "long", "title": "x"})).await.status, 201);
        let done = json!({"key": "k", "state": "done", "result": "x".repeat(4_000_000)});
        assert_eq!(node.post("agent-a", "/v1/runs/long/steps", done).await.status, 201);
        let output = json!({"status": "completed", "output": "x".repeat(4_000_000)});
        assert_eq!(node.post("agent-a", "/v1/runs/long/end", output).await.status, 200);
        let begun = r#"{"key": "k", "state": "begun"}"#;
        let step = format!(
            "POST /v1/runs/long/steps HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{begun}",
            token("agent-a"),
            begun.len()
        );
        for request in [
            stream_of("agent-a", "/v1/runs/long"),
            stream_of("agent-a", "/v1/runs/long/wait"),
            stream_of("agent-a", "/v1/runs/long/journal"),
            step,
        ] {
            assert_eq!(answered_unread(node, &request).await, 2, "{request}");
            // Who is done with them, one way or the other, gets the next.
            assert_eq!(node.get("agent-a", "/v1/runs/long").await.status, 200);
        }
    }
}

#[tokio::test]
async fn one_wait_for_many_gates_answers_with_as_many_as_a_page_holds_and_names_the_rest() {
    let node = Node::with(few()).await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        let gate = node.opened(json!({"summary": "x".repeat(250_000)})).await;
        ids.push(gate["id"].as_str().unwrap().to_owned());
        let approved = node.post("alice", &format!("/v1/gates/{}/approve", ids[ids.len() - 1]), json!({})).await;
        assert_eq!(approved.status, 200, "{approved:?}");
    }
    for all in [true, false] {
        let (mut seen, mut left) = (0, json!(ids));
        while left != json!([]) {
            let waited =
                node.post("agent-a", "/v1/gates/wait", json!({"ids": left, "all": all, "timeout_ms": 50})).await;
            assert!(waited.body.len() < 5 << 20, "{} bytes", waited.body.len());
            seen += waited.json()["decided"].as_array().unwrap().len();
            left = waited.json()["pending"].clone();
        }
        assert_eq!(seen, 30);
    }
}

/// As many as fit into 32 MiB are received; the others wait in the network, and people do not.
#[tokio::test]
async fn an_agent_that_sends_long_bodies_slowly_has_few_of_them_received_at_once() {
    let node = Node::with(few()).await;
    let body = json!({"summary": "x", "artifacts": [{"name": "a", "media_type": "text/plain", "content": "y".repeat(4_000_000)}]}).to_string();
    let head = format!(
        "POST /v1/gates HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        token("agent-a"),
        body.len()
    );
    let mut slow = Vec::new();
    for _ in 0..12 {
        let mut stream = connect(&node, &head).await;
        let (half, sent) = (body[..body.len() - 1].to_owned(), std::time::Duration::from_secs(2));
        // All but the last byte, as far as it is taken.
        let taken = tokio::time::timeout(sent, async {
            stream.write_all(half.as_bytes()).await.unwrap();
        });
        slow.push((taken.await.is_ok(), stream));
    }
    let received = slow.iter().filter(|(taken, _)| *taken).count();
    assert!((7..=9).contains(&received), "{received} bodies of 4 MB were taken");
    let short = node.post("agent-a", "/v1/gates", json!({"summary": "short ones go on"})).await;
    assert_eq!(short.status, 201, "{short:?}");
    let long = json!({"summary": "x", "artifacts": [{"name": "a", "media_type": "text/plain", "content": "y".repeat(1_000_000)}]});
    assert_eq!(node.post("alice", "/v1/gates", long).await.status, 201, "people's do too");
}

#[tokio::test]
async fn nobodys_gates_hide_anothers() {
    for nodes in everywhere_with(Setting::default).await {
        let node = &nodes[0];
        for n in 0..120 {
            node.opened(json!({"summary": format!("noise {n}"), "risk": "critical"})).await;
        }
        for n in 0..2 {
            let body = json!({"summary": format!("signal {n}"), "risk": "low"});
            assert_eq!(node.post("agent-b", "/v1/gates", body).await.status, 201);
        }
        let titles = |answer: http::Answer| {
            assert_eq!(answer.status, 200, "{answer:?}");
            let list = answer.json();
            let gates = list["gates"].as_array().unwrap().iter();
            gates.map(|gate| gate["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let listed = titles(node.get("alice", "/v1/gates?interleaved=true").await);
        assert_eq!(listed.len(), 50);
        assert_eq!(listed[..4], ["noise 0", "signal 0", "noise 1", "signal 1"]);
        let filtered = titles(node.get("alice", "/v1/gates?status=pending&requested_by=agent-b").await);
        assert_eq!(filtered, ["signal 0", "signal 1"]);
        // An agent sees its own, whatever it asks for.
        assert_eq!(titles(node.get("agent-b", "/v1/gates?interleaved=true").await), ["signal 0", "signal 1"]);
        assert_eq!(titles(node.get("agent-b", "/v1/gates?requested_by=agent-a").await), [""; 0]);
        let both = node.get("alice", "/v1/gates?interleaved=true&status=approved").await;
        assert_eq!((both.status, both.code().as_str()), (400, "bad_query"));
    }
}

#[tokio::test]
async fn nobodys_questions_hide_anothers() {
    for nodes in everywhere_with(Setting::default).await {
        let node = &nodes[0];
        let ask = async |who: &str, text: String, priority: &str| {
            let body = json!({"type": "DECISION", "text": text, "priority": priority});
            assert_eq!(node.post(who, "/v1/questions", body).await.status, 201);
        };
        for n in 0..120 {
            ask("agent-a", format!("noise {n}"), "critical").await;
        }
        for n in 0..2 {
            ask("agent-b", format!("signal {n}"), "low").await;
        }
        let texts = |answer: http::Answer| {
            assert_eq!(answer.status, 200, "{answer:?}");
            let list = answer.json();
            let questions = list["questions"].as_array().unwrap().iter();
            questions.map(|question| question["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let listed = texts(node.get("alice", "/v1/questions?interleaved=true").await);
        assert_eq!(listed.len(), 50);
        assert_eq!(listed[..4], ["noise 0", "signal 0", "noise 1", "signal 1"]);
        // An agent sees its own, whatever it asks for.
        assert_eq!(texts(node.get("agent-b", "/v1/questions?interleaved=true").await), ["signal 0", "signal 1"]);
        let both = node.get("alice", "/v1/questions?interleaved=true&status=answered").await;
        assert_eq!((both.status, both.code().as_str()), (400, "bad_query"));
    }
}

/// What a workflow asks, such as a plan or a debate, counts as asked by whoever started its run.
#[tokio::test]
async fn nobodys_runs_hide_what_anothers_runs_ask() {
    for nodes in everywhere_with(with_workflows).await {
        let node = nodes.last().unwrap();
        for (workflow, input, noun, by) in
            [("publish@1", json!("x"), "gates", "requested_by"), ("asks@1", json!(null), "questions", "asked_by")]
        {
            let starters = [["agent-a"; 12].as_slice(), &["alice", "agent-b"]].concat();
            for who in starters {
                let started = node.post(who, "/v1/runs", json!({"workflow": workflow, "input": input})).await;
                assert_eq!(started.status, 201, "{started:?}");
                node.until_is(&id(&started.json()), "parked").await;
            }
            let initiators = async |who: &str, query: &str| {
                let answer = node.get(who, &format!("/v1/{noun}?{query}")).await;
                assert_eq!(answer.status, 200, "{answer:?}");
                let list = answer.json();
                let asked = list[noun].as_array().unwrap().iter();
                let initiator = |one: &Value| {
                    assert_eq!(one[by], json!(format!("workflow:{workflow}")), "{one}");
                    one["initiator"].as_str().unwrap().to_owned()
                };
                asked.map(initiator).collect::<Vec<_>>()
            };
            let listed = initiators("vera", "interleaved=true&limit=10").await;
            assert_eq!(listed[..3], ["agent-a", "alice", "agent-b"]);
            assert_eq!(listed[3..], ["agent-a"; 7]);
            for status in ["", "&status=pending"] {
                assert_eq!(initiators("vera", &format!("{by}=alice{status}")).await, ["alice"]);
                assert_eq!(initiators("vera", &format!("{by}=agent-a{status}")).await, ["agent-a"; 12]);
                let of_workflow = initiators("vera", &format!("{by}=workflow:{workflow}{status}")).await;
                assert_eq!(of_workflow.len(), 14);
                // An agent sees what its own runs ask, whatever it asks for.
                assert_eq!(initiators("agent-b", &format!("limit=50{status}")).await, ["agent-b"]);
                assert_eq!(initiators("agent-b", &format!("{by}=agent-b{status}")).await, ["agent-b"]);
                assert_eq!(initiators("agent-b", &format!("{by}=alice{status}")).await, [""; 0]);
            }
            assert_eq!(initiators("agent-b", "interleaved=true").await, ["agent-b"]);
        }
        node.verifies().await;
    }
}

#[tokio::test]
async fn refused_attempts_are_recorded_up_to_a_number_and_counted_beyond_it() {
    for nodes in everywhere_with(Setting::default).await {
        let node = &nodes[0];
        let gate =
            node.post("alice", "/v1/gates", json!({"summary": "x", "session_id": "secret-session"})).await.json();
        let path = format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap());
        let question = asked(node, "agent-b").await;
        for n in 0..100 {
            let answer = match n % 2 {
                0 => node.post("agent-a", &path, json!({})).await,
                _ => node.post("agent-a", &format!("/v1/questions/{question}/answer"), json!({"answer": "yes"})).await,
            };
            assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{n}");
            assert!(!answer.body.contains("secret-session"), "{answer:?}");
        }
        let log = node.get("vera", "/v1/audit?limit=1000").await.json();
        let refused = log["entries"].as_array().unwrap().iter().filter(|entry| entry["actor"] == "agent-a");
        assert_eq!(refused.count(), 60);
        // Somebody else's attempt is recorded as ever.
        assert_eq!(node.post("agent-b", &path, json!({})).await.status, 403);
        let log = node.get("vera", "/v1/audit?limit=1000").await.json();
        assert_eq!(log["entries"].as_array().unwrap().last().unwrap()["actor"], "agent-b");
        // Who was refused learns nothing of what they tried to decide on: neither its session nor
        // whose it is.
        for path in ["/v1/audit?limit=1000", "/v1/runs"] {
            let seen = node.get("agent-a", path).await;
            assert!(!seen.body.contains("secret-session") && !seen.body.contains("alice"), "{path}: {}", seen.body);
        }
        node.verifies().await;
    }
}

#[tokio::test]
async fn an_agent_that_sees_nothing_of_the_log_does_not_have_it_walked() {
    let node = Node::start().await;
    for n in 0..1500 {
        node.opened(json!({"summary": format!("gate {n}")})).await;
    }
    let page = node.get("agent-b", "/v1/audit?limit=1").await.json();
    assert_eq!(page["entries"], json!([]));
    assert_eq!(page["next"], 1000, "it stops after a bounded part of the log, and says where");
    // Whoever goes on from there reaches the end, and finds what is its own.
    assert_eq!(node.post("agent-b", "/v1/gates", json!({"summary": "mine"})).await.status, 201);
    let (mut after, mut found) = (0, Vec::new());
    loop {
        let page = node.get("agent-b", &format!("/v1/audit?limit=1&after={after}")).await.json();
        found.extend(page["entries"].as_array().unwrap().iter().cloned());
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["actor"], "agent-b");
}

/// Otherwise a few long texts would fill the page, and the rest would be missing from it.
#[tokio::test]
async fn an_interleaved_list_can_be_brief_too_and_then_has_every_row() {
    let node = Node::start().await;
    for n in 0..40 {
        let text = format!("{n} {}", "x".repeat(200_000));
        assert_eq!(node.post("agent-a", "/v1/gates", json!({ "summary": text })).await.status, 201);
        let question = json!({ "type": "CLARIFYING", "text": text });
        assert_eq!(node.post("agent-a", "/v1/questions", question).await.status, 201);
    }
    for (path, list, text) in [("/v1/gates", "gates", "summary"), ("/v1/questions", "questions", "text")] {
        let listed = node.get("alice", &format!("{path}?interleaved=true&brief=true&limit=50")).await.json();
        let rows = listed[list].as_array().unwrap();
        assert_eq!(rows.len(), 40, "{path}");
        assert!(rows.iter().all(|row| row[text].as_str().is_some_and(|text| text.len() <= 400)), "{path}");
    }
}
