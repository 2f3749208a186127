//! The vendors behind [`Model`](crate::Model) and [`Embedder`](crate::Embedder), each with its own
//! wire format.
//!
//! Each call is one attempt; retries happen above. An answer is read as it arrives, within limits
//! of time, silence and size. An answer that is cut off, garbled or endless is a
//! [`ModelFailure`](crate::ModelFailure). Redirects are not followed, because they would forward
//! the key. A key is in no failure, log or record.

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

/// A vendor's address, key and limits.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub name: String,
    /// The address without the path of a call.
    pub base_url: String,
    pub key: Option<Secret>,
    /// The time limit for an answer, from the first byte sent to the last received.
    pub timeout: Duration,
    /// The longest silence, before the first byte or between two pieces.
    pub silence: Duration,
    /// The longest text.
    pub answer_bytes: usize,
}

/// The default time limit.
pub const TIMEOUT: Duration = Duration::from_secs(300);
/// The default limit of silence. A model that reasons sends nothing for a while.
pub const SILENCE: Duration = Duration::from_secs(120);
/// The default limit of an answer's length.
pub const ANSWER_BYTES: usize = 1024 * 1024;

impl Endpoint {
    /// A provider without a key and with the default limits.
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
