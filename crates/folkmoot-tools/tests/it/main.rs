//! What agents may touch, by its behaviour.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod command;
mod lsp;
mod mcp;
mod process;
