//! The server by its behaviour, over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit_script;
mod bad_input;
mod capacity;
mod debates;
mod documents;
mod erasing;
mod feed;
mod flipped_bytes;
mod gates;
mod halting;
mod hostile;
mod http;
mod idempotency;
mod limits;
mod node;
mod observing;
mod parsers;
mod plans;
mod presence;
mod privileges;
mod promises;
mod questions;
mod quorum;
mod reach;
mod runs;
mod tokens;
mod webhooks;
mod websocket;
