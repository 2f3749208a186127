//! The tools as an agent has them, with real processes.

mod command;
mod mcp;
mod process;
