//! Traces, received and decoded as a collector does.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;

use crate::{
    http,
    server::{ROBOT, Server},
};

/// What a collector received.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<Export>>>);

/// A request's head and body.
type Export = (String, Vec<u8>);

/// A collector on a port of its own.
fn collector() -> (String, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let received = Received::default();
    let all = received.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let all = all.clone();
            std::thread::spawn(move || while receive(&stream, &all).is_some() {});
        }
    });
    (url, received)
}

fn receive(stream: &TcpStream, all: &Received) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    all.0.lock().expect("no panic").push((head, body));
    let mut stream = stream;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n").ok()
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()? {
        AnyValue { value: Some(Value::StringValue(text)) } => Some(text),
        AnyValue { value: Some(Value::IntValue(number)) } => Some(number.to_string()),
        _ => None,
    }
}

fn open(url: &str, headers: &[(&str, &str)]) {
    let robot = format!("Bearer {ROBOT}");
    let headers = [&[("authorization", robot.as_str())], headers].concat();
    let answer = http::send(url, "POST", "/v1/gates", &headers, r#"{"summary":"the words of the summary"}"#);
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
}

#[test]
fn a_request_and_its_command_are_spans_in_its_callers_trace() {
    let (url, received) = collector();
    let server = Server::start_with(tempfile::tempdir().expect("a folder"), |command| {
        command.args(["--otlp", &url]).env("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=let-me-in");
    });
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    open(&server.url, &[("traceparent", parent), ("x-request-id", "traced-1")]);
    // The end waits until they are sent.
    assert_eq!(server.terminate(), Some(0));
    let received = received.0.lock().expect("no panic");
    let (head, _) = received.first().expect("something was sent");
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/x-protobuf"), "{head}");
    assert!(head.contains("x-collector-key: let-me-in"), "{head}");
    let mut spans: Vec<Span> = Vec::new();
    for (_, body) in received.iter() {
        for resource in ExportTraceServiceRequest::decode(body.as_slice()).expect("protobuf").resource_spans {
            let attributes = resource.resource.expect("a resource").attributes;
            assert_eq!(text(&attributes, "service.name").as_deref(), Some("folkmoot"));
            spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
        for word in ["the words", ROBOT, "Bearer"] {
            assert!(!body.windows(word.len()).any(|window| window == word.as_bytes()), "{word:?} was sent");
        }
    }
    let traced = |span: &&Span| span.trace_id == 0x0af7651916cd43dd8448eb211c80319c_u128.to_be_bytes();
    let trace: Vec<&Span> = spans.iter().filter(traced).collect();
    let request = trace.iter().find(|span| span.name == "POST /v1/gates").expect("the request is a span");
    assert_eq!(request.parent_span_id, 0xb7ad6b7169203331_u64.to_be_bytes());
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/gates"),
        ("http.response.status_code", "201"),
        ("enduser.id", "robot"),
        ("request_id", "traced-1"),
    ] {
        assert_eq!(text(&request.attributes, key).as_deref(), Some(value), "{key} of {request:?}");
    }
    let command = trace.iter().find(|span| span.name == "gate.open").expect("the command is a span");
    assert_eq!(command.parent_span_id, request.span_id);
    assert!(text(&command.attributes, "command").is_some_and(|id| id.starts_with("cmd-")), "{command:?}");
    assert_eq!(text(&command.attributes, "together").as_deref(), Some("1"), "{command:?}");
}

#[test]
fn the_usual_variables_name_the_collector_and_the_service() {
    let (url, received) = collector();
    let server = Server::start_with(tempfile::tempdir().expect("a folder"), |command| {
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url).env("OTEL_SERVICE_NAME", "gates-of-production");
    });
    open(&server.url, &[]);
    assert_eq!(server.terminate(), Some(0));
    let received = received.0.lock().expect("no panic");
    let (head, body) = received.first().expect("something was sent");
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    let resource =
        ExportTraceServiceRequest::decode(body.as_slice()).expect("protobuf").resource_spans.remove(0).resource;
    assert_eq!(text(&resource.expect("a resource").attributes, "service.name").as_deref(), Some("gates-of-production"));
}

/// One that refuses connections, and one that takes everything and never answers.
#[test]
fn a_collector_that_does_not_answer_slows_and_stops_nothing() {
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    let deaf_url = format!("http://{}", deaf.local_addr().expect("an address"));
    for url in ["http://127.0.0.1:1", deaf_url.as_str()] {
        let server = Server::start_with(tempfile::tempdir().expect("a folder"), |command| {
            // Batches are sent all the time, so that requests meet them.
            command.args(["--otlp", url]).env("OTEL_BSP_SCHEDULE_DELAY", "10");
        });
        let began = Instant::now();
        (0..20).for_each(|_| open(&server.url, &[]));
        assert!(began.elapsed() < Duration::from_secs(60), "{url}: 20 requests took {:?}", began.elapsed());
        let began = Instant::now();
        assert_eq!(server.terminate(), Some(0), "{url}");
        assert!(began.elapsed() < Duration::from_secs(60), "{url}: the end took {:?}", began.elapsed());
    }
}
