//! A model's answer, and what it cost.

use serde::{Deserialize, Serialize};

use crate::{ModelFailure, ModelRequest};

/// A complete answer of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelAnswer {
    pub text: String,
    pub finish: Finish,
    pub usage: TokenUsage,
    /// The provider that answered, by its name in the configuration.
    pub provider: String,
    /// The model that was asked.
    pub model: String,
    /// The model's own version, if the vendor reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of the successful attempt, from the first byte sent to the last received.
    pub latency_ms: u64,
    /// In millionths of a US dollar; unknown if the model has no price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd_micros: Option<u64>,
    /// The exact request body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// Failed attempts before this one, also at other providers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<FailedAttempt>,
}

/// A call that failed before another one succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedAttempt {
    pub model: String,
    pub failure: ModelFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model finished.
    Stop,
    /// It reached the maximum length: the text is cut off.
    Length,
}

/// Tokens as the vendor counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenUsage {
    /// All tokens that were read.
    pub input_tokens: u64,
    /// How many of those came from the vendor's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens that were written, including reasoning.
    pub output_tokens: u64,
    /// The vendor did not report usage; this is our estimate.
    #[serde(default)]
    pub estimated: bool,
}

impl TokenUsage {
    /// Estimates a call's tokens from its bytes: four per token, as in most English texts.
    pub fn estimate(request: &ModelRequest, answer_bytes: usize) -> Self {
        Self {
            input_tokens: tokens(request.bytes(), 4),
            cached_tokens: 0,
            output_tokens: tokens(answer_bytes, 4),
            estimated: true,
        }
    }

    /// The most that a call can use, judged before it is made. Short words and other scripts need
    /// more tokens.
    pub fn at_most(request: &ModelRequest) -> Self {
        let input_tokens = tokens(request.bytes(), 2);
        Self { input_tokens, cached_tokens: 0, output_tokens: request.max_tokens.into(), estimated: true }
    }

    /// All tokens that count against a budget.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

fn tokens(bytes: usize, bytes_a_token: u64) -> u64 {
    (bytes as u64).div_ceil(bytes_a_token)
}
