//! What a channel is told, and why it was not.

pub use folkmoot_core::delivery::RetryAdvice;

/// The message that a channel sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The same however often it is sent, so that a receiver can tell a repetition.
    pub id: String,
    /// Of the event, as on the feed: `gate.opened`.
    pub kind: String,
    /// When it happened, in RFC 3339.
    pub at: String,
    /// The event, as the feed has it: for programs.
    pub data: serde_json::Value,
    /// In one line: for people.
    pub title: String,
    /// What it is about, as plain text.
    pub text: String,
    /// Who, how risky, until when: in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// Where to look, or what to type.
    pub link: Option<NotificationLink>,
    /// What it belongs to, such as a gate: mail programs show messages of one thread together.
    pub thread: Option<String>,
}

/// Where or how to act on a notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationLink {
    /// A page to open.
    Page(String),
    /// A command to type.
    Command(String),
}

/// Why a channel did not send a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SendFailure {
    /// What happened. Holds no secret: it is shown and logged.
    pub reason: String,
    /// Whether it may help to try again.
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
