//! Errors of a store. A refusal is not a failure.

use folkmoot_core::Refusal;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The queue is full.
    #[error("too many commands are waiting to be written; try again in a moment")]
    Busy,
    /// Nothing was written; works again when there is space.
    #[error("the disk is full: nothing was written; free some space and try again")]
    Full,
    /// Nothing was written; works again when the database is back.
    #[error("the database cannot be reached: nothing was written; try again ({0})")]
    Unavailable(String),
    /// Nothing was written, also on a second try; the database accepts other commands.
    #[error("the database cancelled this: nothing was written; try again in a moment ({0})")]
    Cancelled(String),
    /// The connection was lost during the commit or before its result arrived, or the database
    /// withdrew its success.
    #[error(
        "the database was lost during the commit or right after it, so it is not known whether this was written; \
             the same Idempotency-Key finds out"
    )]
    OutcomeUnknown,
    /// The first failed sync stops the writer.
    #[error("the store has stopped: {0}")]
    Stopped(String),
    #[error("the database failed: {0}")]
    Database(String),
    /// Stored data is invalid.
    #[error("the database holds something that cannot be read: {0}")]
    Unreadable(String),
    #[error("{0}")]
    Schema(String),
}

impl Error {
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}
