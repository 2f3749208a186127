//! The interface to whatever sends messages. The engine decides what to send and when to retry, not
//! how.

use std::{fmt, time::Duration};

use folkmoot_core::{Delivery, Event, Timestamp, Webhook, delivery::RetryAdvice};
use folkmoot_store::{GateView, QuestionView};
use futures_util::future::BoxFuture;

pub trait Courier: fmt::Debug + Send + Sync {
    /// Sends one message, or says why not. It is called again with the same id if it said so, if it
    /// took too long, or if the server died before the result was recorded.
    fn deliver(&self, letter: CourierMessage) -> BoxFuture<'static, Result<(), CourierFailure>>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourierMessage {
    /// The channel, the id and the attempts.
    pub delivery: Delivery,
    /// When it was claimed, by the engine's clock.
    pub at: Timestamp,
    /// The webhook, if the channel is one; otherwise it is configured.
    pub webhook: Option<Webhook>,
    pub event: Event,
    /// The event's gate, in its current state.
    pub gate: Option<GateView>,
    /// The event's question, in its current state.
    pub question: Option<QuestionView>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourierFailure {
    /// The reason. It is stored and shown, so it contains no secret.
    pub reason: String,
    pub again: RetryAdvice,
}

impl CourierFailure {
    /// Retrying cannot help.
    pub fn never(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Never }
    }

    /// Retrying may help.
    pub fn later(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Later }
    }

    /// The receiver said when to retry.
    pub fn after(reason: impl Into<String>, span: Duration) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::After(span) }
    }
}
