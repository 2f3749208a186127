//! What agents can use: the jail, git worktrees, project commands, MCP and LSP clients, retrieval.
//!
//! The only crate that starts processes. Code of agents and projects runs in the [`Jail`] or not at
//! all.

mod beneath;
mod child;
pub mod command;
mod foreign;
pub mod format;
pub mod git;
pub mod jail;
pub mod lsp;
pub mod mcp;
mod program;
pub mod project;
pub mod retrieval;
pub mod testing;
pub mod tool;

pub use child::{find, run_once};
pub use command::CommandModel;
pub use git::{GitError, Repository, Worktree};
pub use jail::{Inmate, Jail, JailError, JailJob, JailLimits, JobEnd, JobReport, Limit, Profile};
pub use lsp::Lsp;
pub use mcp::Mcp;
pub use tool::{Tool, ToolCall, ToolError, ToolErrorCode, Toolbox};
