//! What agents may touch, by its behaviour, with real processes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod command;
mod git;
#[cfg(target_os = "linux")]
mod jail;
mod lsp;
mod mcp;
mod process;
mod retrieval;
#[cfg(target_os = "linux")]
mod testing;
