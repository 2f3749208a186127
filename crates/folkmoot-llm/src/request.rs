//! A request to a model.

use folkmoot_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request to a model, independent of the vendor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// The system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation, the oldest first. The last message is the user's.
    pub messages: Vec<Message>,
    /// The required shape of the answer, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    pub max_tokens: u32,
    /// The default is the vendor's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The random seed, for vendors that support one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Identifies this call, so that a vendor that supports such keys charges once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The purpose of the call. It is not sent to vendors; the rehearsal uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cue: Option<Cue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub speaker: Speaker,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    User,
    Assistant,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// A name for the vendor: letters, digits, `_` and `-`.
    pub name: String,
    /// JSON Schema without external references.
    pub schema: Value,
}

/// The purpose of a call, for the rehearsal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cue {
    /// The kind of contribution: `proposal`, `critique`, `tests`, `ballot`, …
    pub part: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// The topic or task, as the user wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// The attempt's number, from 0.
    #[serde(default)]
    pub attempt: u32,
    /// What the contribution builds on: `language`, `code`, `candidates`, …
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub given: Value,
}

/// The name of the schema of a turn with tools. Its answer is a call, or the actual answer under
/// `answer`.
pub const TOOL_TURN: &str = "tool_turn";

/// The default maximum length.
pub const MAX_TOKENS: u32 = 4096;

impl ModelRequest {
    /// A request with one message.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            system: None,
            messages: vec![Message { speaker: Speaker::User, text: text.into() }],
            schema: None,
            max_tokens: MAX_TOKENS,
            temperature: None,
            seed: None,
            idempotency_key: None,
            cue: None,
        }
    }

    /// The size of all texts.
    pub fn bytes(&self) -> usize {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.schema.to_string().len());
        let said: usize = self.messages.iter().map(|message| message.text.len()).sum();
        self.system.as_ref().map_or(0, String::len) + said + schema
    }

    /// Identifies the call. The idempotency key is not part of it, because it names one particular
    /// attempt.
    pub fn digest(&self) -> Digest {
        let unnamed = Self { idempotency_key: None, ..self.clone() };
        let bytes = serde_json::to_vec(&unnamed).expect("a request is plain data");
        Digest::of(&bytes)
    }
}
