//! What agents may touch: the jail, git worktrees, project commands, MCP and LSP clients, retrieval.
//!
//! The only crate that starts a process. What an agent wrote, or a project brings, runs in the [`Jail`] or not at all.

mod beneath;
pub mod format;
pub mod git;
pub mod jail;
pub mod project;
pub mod retrieval;
pub mod tool;

pub use git::{GitError, Repository, Worktree};
pub use jail::{End, Jail, JailError, Job, Limit, Limits, Profile, Report};
pub use tool::{Tool, ToolCall, ToolError, Toolbox};
