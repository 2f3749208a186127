//! A run's summary, from its row, its gates and its questions.

use crate::{GateId, Name, RunId, SessionId, Timestamp};

vocabulary! {
    /// Where a run is in its life, as people see it.
    pub enum SummaryStatus {
        /// No worker has taken it yet.
        Pending = "pending",
        /// It is worked on, or waits for something that needs no person.
        Running = "running",
        /// It goes on when somebody has decided, answered, lifted a halt, or looked at it.
        Paused = "paused",
        /// It reached its end.
        Completed = "completed",
        /// It ended with an error.
        Failed = "failed",
        /// Somebody ended it.
        Cancelled = "cancelled",
    }
}

impl SummaryStatus {
    pub fn is_over(self) -> bool {
        match self {
            SummaryStatus::Pending | SummaryStatus::Running | SummaryStatus::Paused => false,
            SummaryStatus::Completed | SummaryStatus::Failed | SummaryStatus::Cancelled => true,
        }
    }
}

/// A run's summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    pub id: RunId,
    pub session_id: SessionId,
    pub title: String,
    pub initiated_by: Name,
    pub created_at: Timestamp,
    /// When it last had an event.
    pub updated_at: Timestamp,
    pub status: SummaryStatus,
    /// Of the gates at which it waits, the one that its workflow opened first.
    pub waiting_at: Option<GateId>,
}
