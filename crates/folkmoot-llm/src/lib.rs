//! One trait to call a model, and the vendors behind it.
//!
//! A [`Model`] takes one [`Request`] and gives one [`Answer`], told piece by piece to whoever [hears](Hear) it. What a model
//! says is data: it is never evaluated here, and what cannot be read is a [`Failure`], never an answer. No request, failure
//! or record holds a key.

pub mod answer;
pub mod failure;
pub mod model;
pub mod prompt;
pub mod request;

pub use answer::{Answer, Attempt, Finish, Usage};
pub use failure::{Failure, FailureKind};
pub use model::{Embedder, Hear, Model};
pub use prompt::{Context, PromptError, Prompts};
pub use request::{Message, Request, Schema, Speaker};
