//! Whatever answers, the client has an answer or an error.

use std::time::Duration;

use folkmoot_api::{
    Client,
    wire::{
        AuditEntry, AuditPage, Clearance, Event, Gate, GateList, JournalPage, Problem, Question, Run, ServerFile, Token,
    },
};
use folkmoot_mangle::{check, check_text};
use futures_util::StreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

const EVENT: &str = r#"{"position":7,"stream":"gate-1","stream_seq":1,"type":"gate.opened","version":1,"actor":"a","on_behalf_of":null,"session":null,"command_id":"cmd-1","at":"2026-11-16T10:24:13.791016Z","payload":{"id":"gate-1"},"token_id":"tok-1"}"#;
const ENTRY: &str = r#"{"position":7,"stream":"gate-1","stream_seq":1,"type":"gate.opened","version":1,"actor":"a","on_behalf_of":null,"session":"s","command_id":"cmd-1","at":"2026-11-16T10:24:13.791016Z","payload":"{}","prev_hash":"0f0f","hash":"f0f0","token_id":"tok-1"}"#;
const PROBLEM: &str = r#"{"type":"urn:folkmoot:problem:gate_decided","title":"Conflict","status":409,"code":"gate_decided","detail":"the gate was already decided"}"#;

#[test]
fn what_a_server_says_is_read_or_refused() {
    let run = r#"{"id":"run-1","kind":"external","title":"","workflow":null,"session_id":"run-1","status":"completed","initiator":"a","parent":null,"started_at":"2026-11-16T10:53:10.091601Z","ended_at":null,"node":null,"steps":0,"journal_bytes":0,"active_ms":0,"limits":{"steps_max":1,"journal_bytes_max":1,"active_ms_max":1},"input":null,"stopped":null,"ending":null}"#;
    let page = format!(r#"{{"entries":[{ENTRY}],"next":7}}"#);
    let clearance = r#"{"can_proceed":false,"blocked_by":[{"id":"q","kind":"question","type":"BLOCKING","scope":"agent","since":"2026-11-16T10:53:10Z"}]}"#;
    let server = r#"{"url":"http://127.0.0.1:7400","pid":1,"started_at":"2026-11-16T10:53:10.091601Z"}"#;
    let samples = [EVENT, ENTRY, PROBLEM, run, &page, clearance, server];
    check("what a server says", &samples, |bytes| {
        let _ = serde_json::from_slice::<Event>(bytes);
        let _ = serde_json::from_slice::<AuditEntry>(bytes).map(AuditEntry::event);
        let _ = (serde_json::from_slice::<AuditPage>(bytes), serde_json::from_slice::<Problem>(bytes));
        let _ = (serde_json::from_slice::<Gate>(bytes), serde_json::from_slice::<GateList>(bytes));
        let _ = (serde_json::from_slice::<Question>(bytes), serde_json::from_slice::<Run>(bytes));
        let _ = (serde_json::from_slice::<JournalPage>(bytes), serde_json::from_slice::<Token>(bytes));
        let _ = (serde_json::from_slice::<Clearance>(bytes), serde_json::from_slice::<ServerFile>(bytes));
    });
}

/// A server that says these bytes to whoever asks, and closes.
async fn says(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = [0; 4096];
        let _ = stream.read(&mut asked).await;
        let _ = stream.write_all(&bytes).await;
        let _ = stream.shutdown().await;
        // What the other side has not read would be lost with a reset.
        let _ = tokio::time::timeout(Duration::from_millis(500), stream.read(&mut asked)).await;
    });
    url
}

#[test]
fn a_feed_of_anything_ends() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let feed = format!(
        ": hi\n\nid: 6\n\nid: 7\nevent: gate.opened\ndata: {EVENT}\n\nid: 8\r\ndata: {EVENT}\r\n\r\ndata: a\ndata: b\nretry: 9\n\n"
    );
    check("the feed", &[&feed], |bytes| {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        runtime.block_on(async {
            let url = says([head, bytes].concat()).await;
            let mut feed = Client::new(&url, "t").unwrap().events(Some(0)).await.unwrap();
            while let Some(event) = feed.next().await {
                if event.is_err() {
                    break;
                }
            }
        });
    });
}

#[test]
fn an_answer_that_is_not_even_http_is_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let refused = format!(
        "HTTP/1.1 409 Conflict\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\r\n{PROBLEM}",
        PROBLEM.len()
    );
    let page = format!(r#"{{"entries":[{ENTRY}],"next":null}}"#);
    let good =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{page}", page.len());
    check("answers", &[&refused, &good], |bytes| {
        runtime.block_on(async {
            let url = says(bytes.to_vec()).await;
            let _ = tokio::time::timeout(Duration::from_millis(900), Client::new(&url, "t").unwrap().ready()).await;
        });
    });
}

#[test]
fn any_address_is_a_client_or_an_error() {
    let samples = ["http://127.0.0.1:7400", "https://user:pass@[::1]:99/a?b#c", "unix:/x", "http://xn--a"];
    check_text("addresses", &samples, |url| drop(Client::new(url, url)));
}
