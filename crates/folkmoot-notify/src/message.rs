//! The message for a channel, and the reason if sending fails.

pub use folkmoot_core::delivery::RetryAdvice;

/// The message that a channel sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// Stays the same if the message is sent again, so that a receiver can detect repetitions.
    pub id: String,
    /// The event's type, as on the feed: `gate.opened`.
    pub kind: String,
    /// The time of the event, in RFC 3339.
    pub at: String,
    /// The event as the feed has it, for programs.
    pub data: serde_json::Value,
    /// One line, for people.
    pub title: String,
    /// The details, as plain text.
    pub text: String,
    /// Requester, risk, deadline and so on, in display order.
    pub facts: Vec<(String, String)>,
    /// The page to open, or the command to type.
    pub link: Option<NotificationLink>,
    /// What it belongs to, such as a gate. Mail programs group messages by thread.
    pub thread: Option<String>,
}

/// Where or how to act on a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationLink {
    Page(String),
    Command(String),
}

/// Why a channel did not send a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SendFailure {
    /// The reason. It contains no secret, because it is shown and logged.
    pub reason: String,
    pub again: RetryAdvice,
}

impl SendFailure {
    pub fn later(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Later }
    }

    pub(crate) fn never(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Never }
    }
}
