//! Messages on real roads: HTTP, TLS and SMTP over sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod addresses;
mod certificate;
mod mail;
mod receiver;
mod smtp;
mod standard_webhooks;
mod tls;
mod webhooks;

use folkmoot_core::Timestamp;
use folkmoot_notify::{AddressGuard, Notification, Post, Trust};
use serde_json::json;

fn message(id: &str) -> Notification {
    Notification {
        id: id.to_owned(),
        kind: "gate.opened".to_owned(),
        at: "2026-01-31T12:00:00.000000Z".to_owned(),
        data: json!({ "gate_id": "g-1", "summary": "Ship it — now" }),
        title: "Deploy 1.4.2 waits for a decision (high risk)".to_owned(),
        text: "Deploy 1.4.2 to production".to_owned(),
        facts: vec![("Asked by".to_owned(), "agent-a".to_owned()), ("Risk".to_owned(), "high".to_owned())],
        link: None,
        thread: Some("g-1".to_owned()),
    }
}

/// One that may send to this machine.
fn post() -> Post {
    Post::new(guard(&["127.0.0.0/8"]), Trust::default())
}

fn guard(allow: &[&str]) -> AddressGuard {
    AddressGuard::new(&allow.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
}
