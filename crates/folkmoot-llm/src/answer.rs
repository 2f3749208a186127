//! What a model answered, and what that took.

use serde::{Deserialize, Serialize};

use crate::{ModelFailure, ModelRequest};

/// A complete answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelAnswer {
    /// What it said.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// What it counted.
    pub usage: TokenUsage,
    /// Who answered: the provider's name in the configuration.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The model that says it answered, where the vendor tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// From the first byte sent to the last received, of the attempt that succeeded.
    pub latency_ms: u64,
    /// What it cost, in millionths of a US dollar; unknown where the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd_micros: Option<u64>,
    /// The body that was sent, to the byte.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The attempts before this one that failed, also those at other providers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
}

/// A model that was asked and failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    /// Which model was asked.
    pub model: String,
    /// What came of it.
    pub failure: ModelFailure,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model had said it all.
    Stop,
    /// It reached the longest answer that was asked for: the text is cut off.
    Length,
}

/// Tokens, as the vendor counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenUsage {
    /// What was read, all of it.
    pub input_tokens: u64,
    /// How much of that came from the vendor's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// What was written, reasoning included.
    pub output_tokens: u64,
    /// The vendor did not say, and this is our estimate.
    #[serde(default)]
    pub estimated: bool,
}

impl TokenUsage {
    /// What a call probably took, from the bytes: four of them to a token, as in most English.
    pub fn estimate(request: &ModelRequest, answer_bytes: usize) -> Self {
        Self {
            input_tokens: tokens(request.bytes(), 4),
            cached_tokens: 0,
            output_tokens: tokens(answer_bytes, 4),
            estimated: true,
        }
    }

    /// What a call can take, for all that is known before it: text of short words or of other
    /// scripts takes more tokens.
    pub fn at_most(request: &ModelRequest) -> Self {
        let input_tokens = tokens(request.bytes(), 2);
        Self { input_tokens, cached_tokens: 0, output_tokens: request.max_tokens.into(), estimated: true }
    }

    /// Everything that counts against a budget.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

fn tokens(bytes: usize, bytes_a_token: u64) -> u64 {
    (bytes as u64).div_ceil(bytes_a_token)
}
