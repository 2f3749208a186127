//! Who carries messages to channels. The engine knows what is to be said to whom, and when to try
//! again; not how.

use std::{fmt, time::Duration};

use folkmoot_core::{Delivery, Event, Timestamp, Webhook, delivery::RetryAdvice};
use folkmoot_store::{GateView, QuestionView};
use futures_util::future::BoxFuture;

/// Carries messages.
pub trait Courier: fmt::Debug + Send + Sync {
    /// Tells one channel of one event, or says why not. It is told to go again, under the same id,
    /// where it said so, where it took too long, and where the server died before it heard what
    /// came of it.
    fn deliver(&self, letter: CourierMessage) -> BoxFuture<'static, Result<(), CourierFailure>>;
}

/// All that there is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourierMessage {
    /// To whom, under which id, and how often it was tried.
    pub delivery: Delivery,
    /// When it was taken, by the engine's clock.
    pub at: Timestamp,
    /// The webhook that the channel is; otherwise configuration says what it is.
    pub webhook: Option<Webhook>,
    pub event: Event,
    /// The gate that it happened to, as it is now.
    pub gate: Option<GateView>,
    /// The question that it happened to, as it is now.
    pub question: Option<QuestionView>,
}

/// Why a courier did not deliver a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourierFailure {
    /// What happened. It is kept and shown, so it holds no secret.
    pub reason: String,
    /// Whether it may help to try again.
    pub again: RetryAdvice,
}

impl CourierFailure {
    /// It would fail the same way.
    pub fn never(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Never }
    }

    /// It may work another time.
    pub fn later(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::Later }
    }

    /// The receiver said when it may work.
    pub fn after(reason: impl Into<String>, span: Duration) -> Self {
        Self { reason: reason.into(), again: RetryAdvice::After(span) }
    }
}
