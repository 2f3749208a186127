//! Google's Gemini.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    Endpoint,
    answer_stream::{AnswerStream, VendorDialect, VendorRequest, parse},
    count::{self, TokenCount},
    embedding::{Embedding, Vectors, embed},
    fault::VendorFault,
    frames::Framing,
    http::{Http, KeyHeader, unreadable},
};
use crate::{
    Embedder, FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Speaker, structured::portable,
};

/// Gemini, with a key of Google's AI Studio.
#[derive(Debug)]
pub struct Gemini {
    http: Http,
    /// As people write it.
    model: String,
    /// As the path has it.
    resource: String,
}

impl Gemini {
    /// Google's own address.
    pub const BASE_URL: &str = "https://generativelanguage.googleapis.com";

    /// `endpoint`'s base URL ends before `/v1beta`.
    pub fn new(endpoint: Endpoint, model: impl Into<String>) -> Result<Self, ModelFailure> {
        let model = model.into();
        let name = endpoint.name.clone();
        let http = Http::new(endpoint, "/v1beta", KeyHeader::In("x-goog-api-key"))?;
        // The name becomes part of the path, so other characters are refused.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        if model.is_empty() || !model.chars().all(is_plain) || model.contains("..") {
            return Err(ModelFailure::new(
                name,
                FailureKind::Misconfigured,
                format!("{model:?} is no name of a model"),
            ));
        }
        let resource = if model.contains('/') { model.clone() } else { format!("models/{model}") };
        Ok(Self { http, model, resource })
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Embedding>, VendorFault> {
        let body = |batch: &[String]| {
            let requests =
                batch.iter().map(|text| json!({ "model": self.resource, "content": { "parts": [{ "text": text }] } }));
            json!({ "requests": requests.collect::<Vec<_>>() })
        };
        embed::<GeminiEmbeddings>(&self.http, texts, &format!("/v1beta/{}:batchEmbedContents", self.resource), body)
            .await
    }

    async fn one(&self, request: &ModelRequest, hear: &mut dyn Hear) -> Result<ModelAnswer, VendorFault> {
        let path = format!("/v1beta/{}:streamGenerateContent?alt=sse", self.resource);
        let asked = VendorRequest { request, model: &self.model, path: &path, body: body(request).to_string() };
        self.http.tell(asked, GeminiDialect, hear, |post| post).await
    }
}

impl Model for Gemini {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        async move { self.one(request, hear).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

impl Embedder for Gemini {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { self.vectors(texts).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

#[derive(Deserialize)]
struct GeminiEmbeddings {
    embeddings: Vec<GeminiEmbedding>,
}

#[derive(Deserialize)]
struct GeminiEmbedding {
    values: Embedding,
}

impl Vectors for GeminiEmbeddings {
    fn in_order(self) -> Result<Vec<Embedding>, VendorFault> {
        Ok(self.embeddings.into_iter().map(|embedding| embedding.values).collect())
    }
}

fn body(request: &ModelRequest) -> Value {
    let said = request.messages.iter().map(|message| {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "model",
        };
        json!({ "role": role, "parts": [{ "text": message.text }] })
    });
    let mut generation = json!({ "maxOutputTokens": request.max_tokens });
    if let Some(temperature) = request.temperature {
        generation["temperature"] = temperature.into();
    }
    if let Some(seed) = request.seed {
        // Gemini's seed has 31 bits.
        generation["seed"] = (seed & 0x7fff_ffff).into();
    }
    if let Some(schema) = &request.schema {
        generation["responseMimeType"] = "application/json".into();
        generation["responseJsonSchema"] = portable(&schema.schema);
    }
    let mut body = json!({ "contents": said.collect::<Vec<_>>(), "generationConfig": generation });
    if let Some(system) = &request.system {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    body
}

/// Each event is a complete response with the next piece of text.
struct GeminiDialect;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiResponse {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    candidates: Option<Vec<GeminiCandidate>>,
    #[serde(default)]
    prompt_feedback: Option<GeminiFeedback>,
    #[serde(default, deserialize_with = "count::group")]
    usage_metadata: Option<GeminiUsage>,
    #[serde(default)]
    model_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiCandidate {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    content: Option<GeminiContent>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    finish_message: Option<String>,
}

#[derive(Deserialize)]
struct GeminiContent {
    #[serde(default)]
    parts: Option<Vec<GeminiPart>>,
}

#[derive(Deserialize)]
struct GeminiPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thought: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiUsage {
    #[serde(default)]
    prompt_token_count: TokenCount,
    #[serde(default)]
    cached_content_token_count: TokenCount,
    #[serde(default)]
    candidates_token_count: TokenCount,
    #[serde(default)]
    thoughts_token_count: TokenCount,
}

impl VendorDialect for GeminiDialect {
    const FRAMING: Framing = Framing::Sse;

    fn event(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        take(parse(message)?, told)
    }

    /// Without `alt=sse`, which a gateway may drop, the responses come as a list.
    fn whole(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        let list = message.trim_start().starts_with('[').then(|| serde_json::from_str::<Vec<&RawValue>>(message));
        let items = list.transpose().map_err(|error| unreadable(&error))?;
        let responses: Vec<GeminiResponse> = match items {
            Some(items) => items.into_iter().map(|item| parse(item.get())).collect::<Result<_, _>>()?,
            None => vec![parse(message)?],
        };
        let is_one = |response: &GeminiResponse| {
            response.error.is_some() || response.candidates.is_some() || response.prompt_feedback.is_some()
        };
        if !responses.iter().any(is_one) {
            return Err(VendorFault::malformed(
                "answered with JSON that is no response of Gemini's: check the base URL",
            ));
        }
        responses.into_iter().try_for_each(|response| take(response, told))
    }
}

fn take(response: GeminiResponse, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
    if let Some(error) = response.error.filter(|error| !error.is_null()) {
        return Err(VendorFault::told(&error));
    }
    if let Some(reason) = response.prompt_feedback.and_then(|feedback| feedback.block_reason) {
        return Err(VendorFault::new(FailureKind::Withheld, format!("the question was blocked: {reason}")));
    }
    told.version = response.model_version.or(told.version.take());
    if let Some(counts) = response.usage_metadata {
        let written = counts.candidates_token_count.plus(counts.thoughts_token_count);
        told.input_tokens = counts.prompt_token_count.or(told.input_tokens);
        told.output_tokens = written.or(told.output_tokens);
        told.cached_tokens = counts.cached_content_token_count.or(told.cached_tokens);
    }
    for candidate in response.candidates.into_iter().flatten().filter(|candidate| candidate.index.unwrap_or(0) == 0) {
        let parts = candidate.content.and_then(|content| content.parts).into_iter().flatten();
        for part in parts.filter(|part| part.thought != Some(true)) {
            told.say(part.text.as_deref().unwrap_or_default())?;
        }
        if let Some(reason) = candidate.finish_reason {
            told.finish = Some(finish(&reason, candidate.finish_message.as_deref())?);
        }
    }
    Ok(())
}

fn finish(reason: &str, message: Option<&str>) -> Result<Finish, VendorFault> {
    let because = message.map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}"));
    match reason {
        "STOP" => Ok(Finish::Stop),
        "MAX_TOKENS" => Ok(Finish::Length),
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            Err(VendorFault::new(FailureKind::Withheld, format!("the answer was withheld: {because}")))
        }
        "OTHER" | "FINISH_REASON_UNSPECIFIED" => {
            Err(VendorFault::new(FailureKind::Unavailable, format!("the model gave up: {because}")))
        }
        _ => Err(VendorFault::malformed(format!("ended for a reason that is none of a text's: {because}"))),
    }
}
