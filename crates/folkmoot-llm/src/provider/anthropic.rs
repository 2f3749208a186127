//! Anthropic's messages API.

use futures_util::{FutureExt, future::BoxFuture};
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Endpoint,
    answer_stream::{AnswerStream, VendorDialect, VendorRequest, parse},
    count::{self, TokenCount},
    fault::VendorFault,
    frames::Framing,
    http::{Http, KeyHeader, named},
};
use crate::{FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Speaker};

/// Anthropic, or a compatible gateway.
#[derive(Debug)]
pub struct Anthropic {
    http: Http,
    model: String,
}

/// The version of the wire format.
const VERSION: &str = "2023-06-01";

impl Anthropic {
    /// Anthropic's own address.
    pub const BASE_URL: &str = "https://api.anthropic.com";

    /// `endpoint`'s base URL ends before `/v1/messages`.
    pub fn new(endpoint: Endpoint, model: impl Into<String>) -> Result<Self, ModelFailure> {
        Ok(Self { http: Http::new(endpoint, "/v1", KeyHeader::In("x-api-key"))?, model: model.into() })
    }

    async fn one(&self, request: &ModelRequest, hear: &mut dyn Hear) -> Result<ModelAnswer, VendorFault> {
        let body = body(request, &self.model)?.to_string();
        let asked = VendorRequest { request, model: &self.model, path: "/v1/messages", body };
        let dialect = AnthropicDialect { is_structured: request.schema.is_some() };
        let named = |post: RequestBuilder| named(post.header("anthropic-version", VERSION), request);
        self.http.tell(asked, dialect, hear, named).await
    }
}

impl Model for Anthropic {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        async move { self.one(request, hear).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

/// A schema is sent as the input of a tool that the model must use, which all of their models
/// support.
fn body(request: &ModelRequest, model: &str) -> Result<Value, VendorFault> {
    let said = request.messages.iter().map(|message| {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({ "role": role, "content": message.text })
    });
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": said.collect::<Vec<_>>(),
        "stream": true,
    });
    if let Some(system) = &request.system {
        body["system"] = system.as_str().into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(schema) = &request.schema {
        if schema.schema.get("type").is_none_or(|kind| kind != "object") {
            let detail =
                format!("the schema {:?} must describe an object: Anthropic's tools take nothing else", schema.name);
            return Err(VendorFault::new(FailureKind::Misconfigured, detail));
        }
        let description = "Gives the answer. Call it once, with all of the answer.";
        body["tools"] = json!([{ "name": schema.name, "description": description, "input_schema": schema.schema }]);
        body["tool_choice"] = json!({ "type": "tool", "name": schema.name, "disable_parallel_tool_use": true });
    }
    Ok(body)
}

/// Parses the events of a message, and whole messages.
struct AnthropicDialect {
    /// The answer is the tool's input; other text is ignored.
    is_structured: bool,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: AnthropicMessage,
    },
    ContentBlockDelta {
        delta: AnthropicDelta,
    },
    MessageDelta {
        delta: AnthropicMessageDelta,
        #[serde(default, deserialize_with = "count::group")]
        usage: Option<AnthropicUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    /// Pings, block boundaries, and future events.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum AnthropicDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    /// Reasoning, its signature, citations.
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct AnthropicMessageDelta {
    #[serde(default)]
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct AnthropicMessage {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    content: Vec<AnthropicBlock>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default, deserialize_with = "count::group")]
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlock {
    Text {
        text: String,
    },
    ToolUse {
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// Input tokens are counted in three parts.
#[derive(Deserialize)]
struct AnthropicUsage {
    #[serde(default)]
    input_tokens: TokenCount,
    #[serde(default)]
    cache_creation_input_tokens: TokenCount,
    #[serde(default)]
    cache_read_input_tokens: TokenCount,
    #[serde(default)]
    output_tokens: TokenCount,
}

impl VendorDialect for AnthropicDialect {
    const FRAMING: Framing = Framing::Sse;

    fn event(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        match parse(message)? {
            AnthropicEvent::MessageStart { message } => {
                self.message(message, told)?;
                // Output is counted from the first word on; only the last count is final.
                told.output_tokens = TokenCount::Unsaid;
                Ok(())
            }
            AnthropicEvent::ContentBlockDelta { delta: AnthropicDelta::Text { text } } if !self.is_structured => {
                told.say(&text)
            }
            AnthropicEvent::ContentBlockDelta { delta: AnthropicDelta::InputJson { partial_json } }
                if self.is_structured =>
            {
                told.say(&partial_json)
            }
            AnthropicEvent::MessageDelta { delta, usage } => {
                count(usage, told);
                finish(delta.stop_reason.as_deref(), told)
            }
            AnthropicEvent::MessageStop => {
                told.over = true;
                Ok(())
            }
            AnthropicEvent::Error { error } => Err(VendorFault::told(&error)),
            AnthropicEvent::ContentBlockDelta { .. } | AnthropicEvent::Other => Ok(()),
        }
    }

    fn whole(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum AnthropicWhole {
            Message(AnthropicMessage),
            Error { error: Value },
        }
        match parse(message)? {
            AnthropicWhole::Message(message) => self.message(message, told),
            AnthropicWhole::Error { error } => Err(VendorFault::told(&error)),
        }
    }
}

impl AnthropicDialect {
    fn message(&self, message: AnthropicMessage, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        told.version = message.model.or(told.version.take());
        count(message.usage, told);
        for block in message.content {
            match block {
                AnthropicBlock::Text { text } if !self.is_structured => told.say(&text)?,
                AnthropicBlock::ToolUse { input } if self.is_structured => told.say(&input.to_string())?,
                AnthropicBlock::Text { .. } | AnthropicBlock::ToolUse { .. } | AnthropicBlock::Other => {}
            }
        }
        finish(message.stop_reason.as_deref(), told)
    }
}

fn count(counts: Option<AnthropicUsage>, told: &mut AnswerStream<'_>) {
    let Some(counts) = counts else { return };
    if counts.input_tokens != TokenCount::Unsaid {
        let cached = counts.cache_read_input_tokens;
        told.input_tokens = counts.input_tokens.plus(cached).plus(counts.cache_creation_input_tokens);
        told.cached_tokens = cached;
    }
    told.output_tokens = counts.output_tokens.or(told.output_tokens);
}

fn finish(reason: Option<&str>, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
    let Some(reason) = reason else { return Ok(()) };
    told.finish = Some(match reason {
        "end_turn" | "stop_sequence" | "tool_use" => Finish::Stop,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => return Err(VendorFault::new(FailureKind::Withheld, "the model refuses to answer")),
        other => return Err(VendorFault::malformed(format!("ended for a reason that nobody knows: {other}"))),
    });
    Ok(())
}
