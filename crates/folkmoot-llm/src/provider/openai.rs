//! OpenAI's chat completions API, which most other servers implement with variations.

use futures_util::{FutureExt, future::BoxFuture};
use reqwest::Url;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{
    Endpoint,
    answer_stream::{AnswerStream, VendorDialect, VendorRequest, parse},
    call_timer::CallTimer,
    count::{self, TokenCount},
    embedding::{Embedding, Vectors, embed},
    fault::VendorFault,
    frames::Framing,
    http::{Http, KeyHeader, named},
};
use crate::{
    Embedder, FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Speaker,
    structured::{portable, strict},
};

/// An OpenAI-compatible server: OpenAI, llama.cpp, vLLM, LM Studio, Mistral, Groq, …
#[derive(Debug)]
pub struct OpenAi {
    http: Http,
    model: OnceCell<String>,
}

/// A list of models is short.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

impl OpenAi {
    /// OpenAI's own address.
    pub const BASE_URL: &str = "https://api.openai.com/v1";

    /// Without `model`, uses the first one that the server lists, determined on the first call. The
    /// base URL ends before `/chat/completions`.
    pub fn new(endpoint: Endpoint, model: Option<String>) -> Result<Self, ModelFailure> {
        Ok(Self { http: Http::new(endpoint, "", KeyHeader::Bearer)?, model: OnceCell::new_with(model) })
    }

    /// The model's name. If none was configured, asks the server the first time.
    pub async fn model_name(&self) -> Result<&str, ModelFailure> {
        self.model().await.map_err(|fault| self.http.failure(fault))
    }

    async fn model(&self) -> Result<&str, VendorFault> {
        let model = self.model.get_or_try_init(|| self.first_model()).await?;
        Ok(model)
    }

    async fn first_model(&self) -> Result<String, VendorFault> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<OpenAiModelEntry>,
        }
        #[derive(Deserialize)]
        struct OpenAiModelEntry {
            id: String,
        }
        let patience = CallTimer::of(&self.http.endpoint);
        let list: List = self.http.fetch(self.http.get("/models"), &patience, LIST_BYTES_MAX).await?;
        let first = list.data.into_iter().next();
        first
            .map(|entry| entry.id)
            .ok_or_else(|| VendorFault::new(FailureKind::Refused, "the server has no model: load one"))
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Embedding>, VendorFault> {
        let model = self.model().await?;
        let body = |batch: &[String]| json!({ "model": model, "input": batch, "encoding_format": "float" });
        embed::<OpenAiEmbeddings>(&self.http, texts, "/embeddings", body).await
    }

    async fn one(&self, request: &ModelRequest, hear: &mut dyn Hear) -> Result<ModelAnswer, VendorFault> {
        let model = self.model().await?;
        let body = body(request, model, is_theirs(&self.http.endpoint.base_url)).to_string();
        let asked = VendorRequest { request, model, path: "/chat/completions", body };
        self.http.tell(asked, OpenAiDialect, hear, |post| named(post, request)).await
    }
}

impl Model for OpenAi {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        async move { self.one(request, hear).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

impl Embedder for OpenAi {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { self.vectors(texts).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

#[derive(Deserialize)]
struct OpenAiEmbeddings {
    data: Vec<OpenAiEmbedding>,
}

#[derive(Deserialize)]
struct OpenAiEmbedding {
    #[serde(default)]
    index: Option<usize>,
    embedding: Embedding,
}

impl Vectors for OpenAiEmbeddings {
    fn in_order(mut self) -> Result<Vec<Embedding>, VendorFault> {
        self.data.sort_by_key(|numbered| numbered.index);
        // Servers that send no index answer in order.
        if self.data.iter().enumerate().any(|(at, numbered)| numbered.index.is_some_and(|index| index != at)) {
            return Err(VendorFault::malformed("answered vectors whose numbers are not those of the texts"));
        }
        Ok(self.data.into_iter().map(|numbered| numbered.embedding).collect())
    }
}

/// Whether this is OpenAI itself, in any region.
fn is_theirs(base_url: &str) -> bool {
    let url = Url::parse(base_url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.is_some_and(|host| host == "api.openai.com" || host.ends_with(".api.openai.com"))
}

/// OpenAI's reasoning models refuse `max_tokens`; other servers know only that.
fn body(request: &ModelRequest, model: &str, is_theirs: bool) -> Value {
    let system = request.system.iter().map(|text| json!({ "role": "system", "content": text }));
    let said = request.messages.iter().map(|message| {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({ "role": role, "content": message.text })
    });
    let mut body = json!({
        "model": model,
        "messages": system.chain(said).collect::<Vec<_>>(),
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    body[if is_theirs { "max_completion_tokens" } else { "max_tokens" }] = request.max_tokens.into();
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    if let Some(seed) = request.seed {
        body["seed"] = seed.into();
    }
    if let Some(schema) = &request.schema {
        // A schema that cannot be strict is sent as it is; the answer is validated here anyway.
        let wire = portable(&schema.schema);
        let strict = strict(&wire);
        let is_strict = strict.is_some();
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": { "name": schema.name, "schema": strict.unwrap_or(wire), "strict": is_strict },
        });
    }
    body
}

/// Parses the chunks of a completion, and whole completions.
struct OpenAiDialect;

#[derive(Deserialize)]
struct OpenAiCompletion {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    choices: Option<Vec<OpenAiChoice>>,
    #[serde(default, deserialize_with = "count::group")]
    usage: Option<OpenAiUsage>,
}

#[derive(Deserialize)]
struct OpenAiChoice {
    #[serde(default)]
    index: Option<u64>,
    /// When streaming.
    #[serde(default)]
    delta: Option<OpenAiMessage>,
    /// Without streaming.
    #[serde(default)]
    message: Option<OpenAiMessage>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiMessage {
    #[serde(default)]
    content: Option<OpenAiContent>,
    #[serde(default)]
    refusal: Option<String>,
}

/// A text, or its parts; reasoning parts are ignored.
#[derive(Deserialize)]
#[serde(untagged)]
enum OpenAiContent {
    Text(String),
    Parts(Vec<OpenAiPart>),
}

#[derive(Deserialize)]
struct OpenAiPart {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct OpenAiUsage {
    #[serde(default)]
    prompt_tokens: TokenCount,
    #[serde(default)]
    completion_tokens: TokenCount,
    #[serde(default, deserialize_with = "count::group")]
    prompt_tokens_details: Option<OpenAiCachedTokens>,
}

#[derive(Deserialize)]
struct OpenAiCachedTokens {
    #[serde(default)]
    cached_tokens: TokenCount,
}

impl VendorDialect for OpenAiDialect {
    const FRAMING: Framing = Framing::Sse;

    fn event(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        if message.trim() == "[DONE]" {
            told.over = true;
            return Ok(());
        }
        take(parse(message)?, told)
    }

    fn whole(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        let completion: OpenAiCompletion = parse(message)?;
        if completion.error.is_none() && completion.choices.is_none() {
            return Err(VendorFault::malformed("answered with JSON that is no chat completion: check the base URL"));
        }
        take(completion, told)
    }
}

fn take(completion: OpenAiCompletion, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
    if let Some(error) = completion.error.filter(|error| !error.is_null()) {
        return Err(VendorFault::told(&error));
    }
    if let Some(model) = completion.model.filter(|model| !model.is_empty()) {
        told.version = Some(model);
    }
    if let Some(counts) = completion.usage {
        told.input_tokens = counts.prompt_tokens.or(told.input_tokens);
        told.output_tokens = counts.completion_tokens.or(told.output_tokens);
        told.cached_tokens = counts
            .prompt_tokens_details
            .map_or(TokenCount::Unsaid, |cached| cached.cached_tokens)
            .or(told.cached_tokens);
    }
    for choice in completion.choices.into_iter().flatten().filter(|choice| choice.index.unwrap_or(0) == 0) {
        for said in choice.delta.into_iter().chain(choice.message) {
            match said.content {
                Some(OpenAiContent::Text(text)) => told.say(&text)?,
                Some(OpenAiContent::Parts(parts)) => {
                    parts.iter().flat_map(|part| &part.text).try_for_each(|text| told.say(text))?
                }
                None => {}
            }
            told.refuse(said.refusal.as_deref().unwrap_or_default());
        }
        // Some servers send an empty reason until the end.
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            told.finish = Some(finish(&reason)?);
        }
    }
    Ok(())
}

fn finish(reason: &str) -> Result<Finish, VendorFault> {
    match reason {
        "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" | "tool_calls" | "function_call" => {
            Ok(Finish::Stop)
        }
        "length" | "max_tokens" | "model_length" => Ok(Finish::Length),
        "content_filter" => Err(VendorFault::new(FailureKind::Withheld, "the answer was stopped by a content filter")),
        "error" | "abort" | "cancelled" | "insufficient_system_resource" => {
            Err(VendorFault::new(FailureKind::Unavailable, format!("the server gave up: {reason}")))
        }
        other => Err(VendorFault::malformed(format!("ended for a reason that nobody knows: {other}"))),
    }
}

#[cfg(test)]
mod tests;
