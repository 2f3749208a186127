//! Errors of git.

use std::{io, time::Duration};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// No suitable git is installed.
    #[error("git is needed, 2.32 or newer: {0}")]
    Missing(String),
    #[error("{0} is not in a git repository; `git init` makes one")]
    NotARepository(String),
    /// A name, path or revision is refused.
    #[error("{0}")]
    Invalid(String),
    /// Something that exists is in the way.
    #[error("{0}")]
    Conflict(String),
    #[error("`git {command}` took longer than {limit:?} and was ended; try again")]
    TimedOut { command: String, limit: Duration },
    #[error("{0}")]
    TooLarge(String),
    /// Git failed.
    #[error("`git {command}` failed: {stderr}")]
    Failed {
        command: String,
        /// The beginning of its stderr.
        stderr: String,
    },
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
}

impl GitError {
    pub(super) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}
