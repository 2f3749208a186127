//! Why git gave nothing.

use std::{io, time::Duration};

/// Why git gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git that can be held.
    #[error("git is needed, 2.32 or newer: {0}")]
    Missing(String),
    /// Nothing of git's is there.
    #[error("{0} is not in a git repository; `git init` makes one")]
    NotARepository(String),
    /// A name, path or revision that is refused.
    #[error("{0}")]
    Invalid(String),
    /// What is there already stands in the way.
    #[error("{0}")]
    Conflict(String),
    /// It took too long, and was ended.
    #[error("`git {command}` took longer than {limit:?} and was ended; try again")]
    TimedOut {
        /// What was done.
        command: String,
        /// How long it could have taken.
        limit: Duration,
    },
    /// It is more than the limits allow.
    #[error("{0}")]
    TooLarge(String),
    /// Git refused, in its own words.
    #[error("`git {command}` failed: {stderr}")]
    Failed {
        /// What was done.
        command: String,
        /// The beginning of what it complained.
        stderr: String,
    },
    /// A file could not be read or written.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl GitError {
    pub(super) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}
