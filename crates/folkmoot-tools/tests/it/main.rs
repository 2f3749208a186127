//! The tools as an agent has them, with real processes.

mod command;
mod lsp;
mod mcp;
mod process;
