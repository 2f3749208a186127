//! What a client can do to HTTP itself: every request is refused or understood, none is taken for
//! two, and the server lives.

use std::time::{Duration, Instant};

use folkmoot_server::ServerLimits;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    http::{self, Answer},
    node::{Node, Setting, token},
};

/// Sends a request of which everything but the token is given, on a connection that is closed
/// afterwards.
async fn sent(node: &Node, who: &str, line: &str, headers: &str, body: &[u8]) -> Answer {
    let mut bytes = format!("{line}\r\nhost: localhost\r\nconnection: close\r\n").into_bytes();
    if !who.is_empty() {
        bytes.extend(format!("authorization: Bearer {}\r\n", token(who)).bytes());
    }
    bytes.extend(headers.bytes());
    if !headers.to_ascii_lowercase().contains("transfer-encoding") {
        bytes.extend(format!("content-length: {}\r\n", body.len()).bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    http::raw(&node.url, &bytes).await
}

const OPEN: &str = "POST /v1/gates HTTP/1.1";

async fn still_works(node: &Node) {
    node.opened(json!({"summary": "and it works"})).await;
    node.verifies().await;
}

/// A body as it is, and what it gets: a status and a code, or 201.
#[tokio::test]
async fn a_body_is_json_in_utf8_and_nothing_else() {
    let node = Node::start().await;
    let utf16: Vec<u8> = r#"{"summary": "x"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let deep_in_a_field = format!(r#"{{"summary": "x", "artifacts": {}"#, "[".repeat(100_000));
    let deep_objects = format!(r#"{{"summary": {}"#, r#"{"a":"#.repeat(100_000));
    let brackets = "[".repeat(4_000_000);
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0x56, 0x2a, 0x2e, 0xcd];
    #[rustfmt::skip]
    let cases: Vec<(&str, &[u8], u16, &str)> = vec![
        ("", br#"{"summary": "x"}"#, 201, ""),
        ("content-type: application/json\r\n", br#"{"summary": "x"}"#, 201, ""),
        // curl's usual type is a form's. What comes is JSON or it is refused, whatever it is
        // called.
        ("content-type: application/x-www-form-urlencoded\r\n", br#"{"summary": "x"}"#, 201, ""),
        ("content-type: application/x-www-form-urlencoded\r\n", b"summary=x", 400, "malformed_json"),
        ("content-type: text/xml\r\n", b"<summary>x</summary>", 400, "malformed_json"),
        ("content-type: application/json; charset=utf-16\r\n", &utf16, 400, "malformed_json"),
        ("content-type: application/json; charset=iso-8859-1\r\n", b"{\"summary\": \"\xe4\"}", 400, "malformed_json"),
        ("content-encoding: gzip\r\n", &gzip, 415, "unsupported_encoding"),
        ("content-encoding: gzip\r\n", br#"{"summary": "x"}"#, 415, "unsupported_encoding"),
        ("content-encoding: identity\r\n", br#"{"summary": "x"}"#, 201, ""),
        ("", b"\xef\xbb\xbf{\"summary\": \"x\"}", 400, "malformed_json"),
        ("", br#"{"summary": "x", "summary": "y"}"#, 422, "invalid"),
        ("", br#"{"summary": "x", "quorum": 1e400}"#, 400, "malformed_json"),
        ("", br#"{"summary": "x", "quorum": 1.5}"#, 422, "invalid"),
        ("", br#"{"summary": "x", "quorum": 99999999999999999999999999}"#, 422, "invalid"),
        ("", br#"{"summary": "\ud800"}"#, 400, "malformed_json"),
        ("", br#"{"summary": "x"} {"summary": "y"}"#, 400, "malformed_json"),
        ("", br#"{"summary": "x"}garbage"#, 400, "malformed_json"),
        ("", br#"{"summary": NaN}"#, 400, "malformed_json"),
        ("", br#"{"summary": 'x'}"#, 400, "malformed_json"),
        ("", br#"{"summary": "x",}"#, 400, "malformed_json"),
        ("", br#"{"summary": "x", "artifacts": [["a", "text/plain", "b"]]}"#, 422, "invalid"),
        ("", br#"{"summary": "x", "artifacts": [{"name": "a", "media_type": "text/plain", "content": "b"}]}"#, 201, ""),
        ("", deep_in_a_field.as_bytes(), 422, "invalid"),
        ("", deep_objects.as_bytes(), 422, "invalid"),
        ("", brackets.as_bytes(), 400, "malformed_json"),
    ];
    for (headers, body, status, code) in cases {
        let began = Instant::now();
        let answer = sent(&node, "agent-a", OPEN, headers, body).await;
        let found = if answer.status < 300 { String::new() } else { answer.code() };
        let short = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!((answer.status, found.as_str()), (status, code), "{headers:?} {short:?}: {}", answer.body);
        // On a machine that does ten other things; what is not linear in its length would take
        // hours.
        assert!(began.elapsed() < Duration::from_secs(20), "{short:?} took {:?}", began.elapsed());
    }
    still_works(&node).await;
}

/// Whoever sends a header twice means two things, and would be believed in the one that somebody
/// before us did not check.
#[tokio::test]
async fn a_header_that_counts_is_sent_once() {
    let node = Node::start().await;
    let alice = format!("authorization: Bearer {}\r\n", token("alice"));
    let body = br#"{"summary": "x"}"#;
    let feed = "GET /v1/events HTTP/1.1";
    for (line, headers, status, code) in [
        (OPEN, alice.as_str(), 401, "unauthenticated"),
        (OPEN, "authorization: \r\n", 401, "unauthenticated"),
        (OPEN, "idempotency-key: a\r\nidempotency-key: b\r\n", 400, "bad_idempotency_key"),
        (OPEN, "idempotency-key: a\tb\r\n", 400, "bad_idempotency_key"),
        (feed, "last-event-id: 0\r\nlast-event-id: 1\r\n", 400, "bad_position"),
        (feed, "last-event-id: -1\r\n", 400, "bad_position"),
        (feed, "last-event-id: 18446744073709551616\r\n", 400, "bad_position"),
        (feed, "last-event-id: 1e3\r\n", 400, "bad_position"),
        (feed, "last-event-id: \r\n", 400, "bad_position"),
    ] {
        let answer = sent(&node, "agent-a", line, headers, if line == OPEN { body } else { b"" }).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{headers:?}");
    }
    // Once, each of them is heard.
    assert_eq!(sent(&node, "agent-a", OPEN, "idempotency-key: a\r\n", body).await.status, 201);
    still_works(&node).await;
}

#[tokio::test]
async fn an_address_is_what_it_says_and_nothing_more() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await["id"].as_str().unwrap().to_owned();
    let long = "a".repeat(20_000);
    #[rustfmt::skip]
    let cases: Vec<(String, u16, &str)> = vec![
        (format!("GET /v1/gates/{gate} HTTP/1.1"), 200, ""),
        // What a proxy sends.
        (format!("GET http://localhost/v1/gates/{gate} HTTP/1.1"), 200, ""),
        (format!("GET http://elsewhere.example/v1/gates/{gate} HTTP/1.1"), 421, "unknown_host"),
        (format!("GET /v1/gates/{gate}%00 HTTP/1.1"), 404, "unknown_gate"),
        (format!("GET /v1/gates/%2e%2e%2f{gate} HTTP/1.1"), 404, "unknown_gate"),
        (format!("GET /v1/gates/{gate}%2fwait HTTP/1.1"), 404, "unknown_gate"),
        (format!("GET /v1/gates/{gate}%0d%0aset-cookie:%20a HTTP/1.1"), 404, "unknown_gate"),
        ("GET /v1/gates/%c0%af HTTP/1.1".to_owned(), 400, "bad_path"),
        (format!("GET /v1/gates/{gate}/ HTTP/1.1"), 404, "unknown_address"),
        (format!("GET /v1/gates//{gate} HTTP/1.1"), 404, "unknown_address"),
        (format!("GET //v1/gates/{gate} HTTP/1.1"), 404, "unknown_address"),
        (format!("GET /v1/../v1/gates/{gate} HTTP/1.1"), 404, "unknown_address"),
        (format!("GET /V1/gates/{gate} HTTP/1.1"), 404, "unknown_address"),
        (format!("GET /v1/gates/{gate};admin=1 HTTP/1.1"), 404, "unknown_gate"),
        (format!("GET /v1/gates/{long} HTTP/1.1"), 404, "unknown_gate"),
        (format!("GET /v1/gates?run={long} HTTP/1.1"), 400, "bad_query"),
        ("GET /v1/gates?limit=1&limit=2 HTTP/1.1".to_owned(), 400, "bad_query"),
        ("GET /v1/gates?status=pending%00 HTTP/1.1".to_owned(), 400, "bad_query"),
        ("GET /v1/gates?cursor=%ff%fe HTTP/1.1".to_owned(), 422, "invalid"),
        ("OPTIONS * HTTP/1.1".to_owned(), 404, "unknown_address"),
        ("OPTIONS /v1/gates HTTP/1.1".to_owned(), 405, "wrong_method"),
        ("TRACE /v1/gates HTTP/1.1".to_owned(), 405, "wrong_method"),
        ("PUT /v1/gates HTTP/1.1".to_owned(), 405, "wrong_method"),
        ("BREW /v1/gates HTTP/1.1".to_owned(), 405, "wrong_method"),
        ("CONNECT localhost:1 HTTP/1.1".to_owned(), 404, "unknown_address"),
        (format!("GET /v1/gates/{gate} HTTP/1.0"), 200, ""),
    ];
    for (line, status, code) in cases {
        let answer = sent(&node, "agent-a", &line, "", b"").await;
        let short: String = line.chars().take(80).collect();
        let found = if answer.status < 300 { String::new() } else { answer.code() };
        assert_eq!((answer.status, found.as_str()), (status, code), "{short}: {answer:?}");
        assert!(!answer.head.contains("set-cookie"), "{short}: {answer:?}");
    }
    // A head without a body, also where the answer is a refusal.
    let head = sent(&node, "agent-a", &format!("HEAD /v1/gates/{gate} HTTP/1.1"), "", b"").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    let head = sent(&node, "", &format!("HEAD /v1/gates/{gate} HTTP/1.1"), "", b"").await;
    assert_eq!((head.status, head.body.as_str()), (401, ""));
    still_works(&node).await;
}

/// Where the body ends, nobody between us may see otherwise.
#[tokio::test]
async fn a_body_has_one_length() {
    let node = Node::start().await;
    let body = br#"{"summary": "x"}"#;
    let chunked = b"10\r\n{\"summary\": \"x\"}\r\n0\r\n\r\n";
    for (headers, body, status) in [
        ("transfer-encoding: chunked\r\n", chunked.as_slice(), 201),
        ("transfer-encoding: chunked\r\n", b"10;ext=1\r\n{\"summary\": \"x\"}\r\n0\r\ntrailer: 1\r\n\r\n", 201),
        ("transfer-encoding: chunked, chunked\r\n", chunked, 400),
        ("transfer-encoding: gzip, chunked\r\n", chunked, 400),
        ("transfer-encoding: identity\r\n", body, 400),
        ("transfer-encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n", 400),
        ("transfer-encoding: chunked\r\n", b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n", 400),
        ("transfer-encoding: chunked\r\n", b"-1\r\n{}\r\n0\r\n\r\n", 400),
        ("content-length: 16\r\ntransfer-encoding : chunked\r\n", body, 400),
    ] {
        let answer = sent(&node, "agent-a", OPEN, headers, body).await;
        assert_eq!(answer.status, status, "{headers:?} {:?}: {answer:?}", String::from_utf8_lossy(body));
    }
    // The smallest client adds a right one to each of these.
    for lengths in ["content-length: 5\r\n", "content-length: +16\r\n", "content-length: 16, 16\r\n"] {
        let answer = sent(&node, "agent-a", OPEN, lengths, body).await;
        assert_eq!(answer.status, 400, "{lengths:?}: {answer:?}");
    }
    still_works(&node).await;
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused() {
    let node = Node::start().await;
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let long = format!("x-long: {}\r\n", "y".repeat(200_000));
    for headers in [many, long] {
        let answer = sent(&node, "agent-a", "GET /v1/gates HTTP/1.1", &headers, b"").await;
        assert_eq!(answer.status, 431, "{:?}", answer.head);
    }
    still_works(&node).await;
}

/// One byte now and then keeps no connection: the whole head has one time limit, and so has the
/// whole body.
#[tokio::test]
async fn a_trickle_is_cut_off_like_silence() {
    // Far below the usual 30 seconds.
    let limits = ServerLimits { header_timeout_ms: 400, body_timeout_ms: 400, ..ServerLimits::default() };
    let node = Node::with(Setting { limits: Some(limits), ..Setting::default() }).await;
    let head = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ".to_owned();
    let to_body = format!(
        "{OPEN}\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: 1000\r\n\r\n",
        token("agent-a")
    );
    for begin in [head, to_body] {
        let mut stream = TcpStream::connect(node.url.trim_start_matches("http://")).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        let (mut reader, mut writer) = stream.into_split();
        let began = Instant::now();
        let trickle = tokio::spawn(async move {
            while writer.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let mut rest = Vec::new();
        let _ =
            tokio::time::timeout(Duration::from_secs(120), reader.read_to_end(&mut rest)).await.expect("it is cut off");
        assert!(began.elapsed() < Duration::from_secs(25), "it lasted {:?}", began.elapsed());
        trickle.abort();
    }
    still_works(&node).await;
}

/// A page whose name was made to point here (DNS rebinding) is a stranger's, whatever the browser
/// thinks.
#[tokio::test]
async fn a_request_that_was_sent_to_another_name_is_refused_and_says_what_to_configure() {
    let node = Node::with(Setting { hosts: vec!["board.example".to_owned()], ..Setting::default() }).await;
    let port = node.url.rsplit_once(':').unwrap().1.to_owned();
    for (host, status) in [
        (format!("127.0.0.1:{port}"), 200),
        (format!("localhost:{port}"), 200),
        (format!("[::1]:{port}"), 200),
        ("board.example".to_owned(), 200),
        ("BOARD.example:8080".to_owned(), 200),
        (format!("evil.example:{port}"), 421),
        ("localhost.evil.example".to_owned(), 421),
        ("127.0.0.1.evil.example".to_owned(), 421),
        ("a b".to_owned(), 421),
    ] {
        for path in ["/v1/gates", "/healthz", "/openapi.json"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
                token("alice")
            );
            let answer = http::raw(&node.url, request.as_bytes()).await;
            assert_eq!(answer.status, status, "{host} {path}: {answer:?}");
            if status == 421 {
                assert_eq!(answer.code(), "unknown_host");
                assert!(answer.body.contains("[server] hosts"), "{answer:?}");
            }
        }
    }
    let two = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    assert_eq!(http::raw(&node.url, two.as_bytes()).await.status, 421);
    still_works(&node).await;
}

#[tokio::test]
async fn a_body_that_is_announced_as_too_long_is_refused_before_it_is_sent() {
    let node = Node::start().await;
    for who in ["agent-a", "nobody"] {
        let began = Instant::now();
        let request = format!(
            "{OPEN}\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: 5000000000\r\n\
             expect: 100-continue\r\n\r\n",
            token(who)
        );
        let answer = http::raw(&node.url, request.as_bytes()).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "body_too_large"), "{answer:?}");
        assert!(!answer.head.contains("100 continue"), "{answer:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    }
    still_works(&node).await;
}

#[tokio::test]
async fn every_answer_forbids_browsers_to_guess_its_type() {
    let node = Node::start().await;
    for (who, path, status) in [
        ("alice", "/v1/gates", 200),
        ("nobody", "/v1/gates", 401),
        ("alice", "/v1/nothing", 404),
        ("", "/healthz", 200),
        ("", "/openapi.json", 200),
        ("", "/docs", 200),
    ] {
        let answer = sent(&node, who, &format!("GET {path} HTTP/1.1"), "", b"").await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{path}: {}", answer.head);
    }
}

/// What one side reads as one header, another that ends lines only at CR LF reads as two.
#[tokio::test]
async fn a_line_of_a_head_ends_in_cr_lf_and_not_in_lf_alone() {
    let node = Node::start().await;
    let alice = format!("authorization: Bearer {}", token("alice"));
    for request in [
        format!("GET /v1/gates HTTP/1.1\nhost: localhost\n{alice}\nconnection: close\n\n"),
        format!("GET /v1/gates HTTP/1.1\r\nhost: localhost\r\nx: y\n{alice}\r\nconnection: close\r\n\r\n"),
        format!("GET /v1/gates HTTP/1.1\nhost: localhost\r\n{alice}\r\nconnection: close\r\n\r\n"),
        format!("GET /v1/gates HTTP/1.1\r\nhost: localhost\r\n{alice}\r\nconnection: close\r\n\n"),
        format!("\nGET /v1/gates HTTP/1.1\r\nhost: localhost\r\n{alice}\r\nconnection: close\r\n\r\n"),
    ] {
        let answer = http::raw(&node.url, request.as_bytes()).await;
        assert_eq!(answer.status, 400, "{request:?}: {answer:?}");
    }
    // The second request on a connection, too, and never the line feeds of a body.
    let body = "{\n\"summary\": \"x\"\n}";
    let first = format!(
        "{OPEN}\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n{body}",
        token("agent-a"),
        body.len()
    );
    let second = format!("GET /v1/gates HTTP/1.1\r\nhost: localhost\nx: y\r\n{alice}\r\n\r\n");
    let answer = http::raw(&node.url, format!("{first}{second}").as_bytes()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert!(answer.body.contains("HTTP/1.1 400"), "{answer:?}");
    still_works(&node).await;
}
