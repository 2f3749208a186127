//! What can go wrong in a store. A refusal is not a failure.

use folkmoot_core::Refusal;

/// Why a command or a query gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The rules say no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// More commands wait than the queue holds.
    #[error("too many commands are waiting to be written; try again in a moment")]
    Busy,
    /// Nothing was written; it works again when there is room.
    #[error("the disk is full: nothing was written; free some space and try again")]
    Full,
    /// Nothing was written; it works again when the database is back.
    #[error("the database cannot be reached: nothing was written; try again ({0})")]
    Unavailable(String),
    /// Nothing was written, also when it was tried again; the database takes other commands.
    #[error("the database cancelled this: nothing was written; try again in a moment ({0})")]
    Cancelled(String),
    /// The connection was lost during the commit, or before its outcome could be told; or the
    /// database takes it back.
    #[error(
        "the database was lost during the commit or right after it, so it is not known whether this was written; \
             the same Idempotency-Key finds out"
    )]
    OutcomeUnknown,
    /// The first failed sync stops the writer.
    #[error("the store has stopped: {0}")]
    Stopped(String),
    /// The database said something else.
    #[error("the database failed: {0}")]
    Database(String),
    /// What is stored cannot be what was written.
    #[error("the database holds something that cannot be read: {0}")]
    Unreadable(String),
    /// The folder or database belongs to another version.
    #[error("{0}")]
    Schema(String),
}

impl Error {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
