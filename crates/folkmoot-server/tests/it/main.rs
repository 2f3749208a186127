//! The server by its behaviour, over HTTP.

mod audit_script;
mod bad_input;
mod documents;
mod feed;
mod gates;
mod http;
mod idempotency;
mod limits;
mod node;
mod promises;
mod tokens;
