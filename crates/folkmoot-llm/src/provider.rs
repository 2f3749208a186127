//! The vendors behind [`Model`](crate::Model) and [`Embedder`](crate::Embedder), spoken to in their
//! own wire formats.
//!
//! Each call is one attempt: whoever wants another tries again above. An answer is read as it
//! comes, within a time, a silence and a size, and what is cut off, garbled or endless is a
//! [`ModelFailure`](crate::ModelFailure), never an answer. No redirect is followed, because a key
//! must not travel, and a key is in no failure, log or record.

mod answer_stream;
mod anthropic;
mod call_timer;
mod count;
mod embedding;
mod fault;
mod frames;
mod gemini;
mod http;
mod ollama;
mod openai;

use std::time::Duration;

use folkmoot_outbound::Secret;

pub use anthropic::Anthropic;
pub use gemini::Gemini;
pub use ollama::Ollama;
pub use openai::OpenAi;

/// Where a vendor is, and what is expected of it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The provider's name in the configuration.
    pub name: String,
    /// Where it answers, without the path of a single call.
    pub base_url: String,
    /// What it is to know us by.
    pub key: Option<Secret>,
    /// The longest that a whole answer may take, from the first byte sent to the last received.
    pub timeout: Duration,
    /// The longest silence: before the first byte, and between two pieces.
    pub silence: Duration,
    /// The longest text.
    pub answer_bytes: usize,
}

/// How long a whole answer may take where nobody says.
pub const TIMEOUT: Duration = Duration::from_secs(300);
/// How long a vendor may be silent where nobody says. A model that reasons says nothing for a
/// while.
pub const SILENCE: Duration = Duration::from_secs(120);
/// The longest answer where nobody says.
pub const ANSWER_BYTES: usize = 1024 * 1024;

impl Endpoint {
    /// The provider `name` at `base_url`, with no key and the usual limits.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key: None,
            timeout: TIMEOUT,
            silence: SILENCE,
            answer_bytes: ANSWER_BYTES,
        }
    }
}
