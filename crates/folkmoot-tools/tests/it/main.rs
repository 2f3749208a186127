//! What agents may touch, by its behaviour, with real processes.

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
