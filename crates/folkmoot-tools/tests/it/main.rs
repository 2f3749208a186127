//! What agents may touch, by its behaviour, with real processes.

mod command;
#[cfg(target_os = "linux")]
mod jail;
mod mcp;
mod process;
#[cfg(target_os = "linux")]
mod testing;
