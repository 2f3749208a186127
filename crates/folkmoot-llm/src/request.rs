//! What a model is asked.

use folkmoot_core::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request to a model, independent of the vendor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// What the model is, and how it is to behave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// What was said, oldest first. The last is the user's.
    pub messages: Vec<Message>,
    /// The shape that the answer must have, if it must have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Schema>,
    /// The longest answer.
    pub max_tokens: u32,
    /// How freely it chooses its words; the vendor's own default where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Where the vendor's dice start, for those that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Names this call, so that a vendor that knows such keys charges for it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// What the call is for. No vendor is told; the rehearsal plays from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cue: Option<Cue>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub speaker: Speaker,
    pub text: String,
}

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// Whoever asks the model.
    User,
    Assistant,
}

/// The shape of an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// What the vendor calls it: letters, digits, `_` and `-`.
    pub name: String,
    /// JSON Schema. Its references stay within it.
    pub schema: Value,
}

/// What a call is for, as a rehearsal needs to know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cue {
    /// The sort of contribution: `proposal`, `critique`, `tests`, `ballot`, …
    pub part: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// What it is about: the topic, or the task, as the user wrote it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub topic: String,
    /// Which attempt at it this is, from 0.
    #[serde(default)]
    pub attempt: u32,
    /// What the contribution builds on: `language`, `code`, `candidates`, …
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub given: Value,
}

/// The name of the schema of a turn with tools: its answer is either a call, or the answer proper
/// under `answer`.
pub const TOOL_TURN: &str = "tool_turn";

/// The longest answer that is asked for where nobody says.
pub const MAX_TOKENS: u32 = 4096;

impl ModelRequest {
    /// A question in one message.
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

    /// How much text there is to read.
    pub fn bytes(&self) -> usize {
        let schema = self.schema.as_ref().map_or(0, |schema| schema.schema.to_string().len());
        let said: usize = self.messages.iter().map(|message| message.text.len()).sum();
        self.system.as_ref().map_or(0, String::len) + said + schema
    }

    /// Two requests are the same call if their digests are: all but the idempotency key, which
    /// names one time of asking.
    pub fn digest(&self) -> Digest {
        let unnamed = Self { idempotency_key: None, ..self.clone() };
        let bytes = serde_json::to_vec(&unnamed).expect("a request is plain data");
        Digest::of(&bytes)
    }
}
