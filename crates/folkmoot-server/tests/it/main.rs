//! The server by its behaviour, over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod audit_script;
mod bad_input;
mod documents;
mod feed;
mod gates;
mod halting;
mod http;
mod idempotency;
mod limits;
mod node;
mod promises;
mod questions;
mod quorum;
mod runs;
mod tokens;
