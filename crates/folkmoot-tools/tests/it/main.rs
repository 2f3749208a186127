//! What agents may touch, by its behaviour, with real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod command;
#[cfg(target_os = "linux")]
mod format;
mod git;
#[cfg(target_os = "linux")]
mod jail;
mod lsp;
mod mcp;
mod parsers;
mod process;
#[cfg(target_os = "linux")]
mod project;
mod retrieval;
#[cfg(target_os = "linux")]
mod testing;
#[cfg(target_os = "linux")]
mod tools;
