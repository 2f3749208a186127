//! One trait to call a model, and the vendors behind it.
//!
//! A [`Model`] takes one [`ModelRequest`] and returns one [`ModelAnswer`]; [`Hear`] receives the
//! output in pieces. Model output is data: it is never evaluated here. Output that cannot be read
//! is a [`ModelFailure`], never an answer. No request, failure or record contains a key.
//!
//! ```text
//! RecordedModel ─▶ Budgeted ─▶ FallbackChain ─┬▶ Guarded (slots, breaker, retries) ─▶ a vendor,
//!                                             │                                    or a command
//!                                             └▶ Guarded … (fall-backs)
//! ```
//!
//! [`Replay`] and [`Rehearsal`] implement the same trait without a network.

pub mod answer;
mod breaker;
pub mod budget;
pub mod chain;
pub mod continued;
pub mod failure;
pub mod guard;
pub mod model;
pub mod models;
pub mod price;
pub mod prompt;
pub mod provider;
pub mod record;
pub mod rehearsal;
pub mod replay;
pub mod request;
#[cfg(test)]
mod scripted;
pub mod settings;
pub mod structured;

pub use answer::{FailedAttempt, Finish, ModelAnswer, TokenUsage};
pub use failure::{FailureKind, ModelFailure};
pub use folkmoot_outbound as outbound;
pub use model::{Embedder, Hear, Model};
pub use models::Models;
pub use prompt::{PromptContext, PromptError, Prompts};
pub use record::{ModelCallRecord, RecordedModel};
pub use rehearsal::Rehearsal;
pub use replay::Replay;
pub use request::{Cue, Message, ModelRequest, Schema, Speaker};
