//! Ollama's own API, which has features that its OpenAI-compatible one lacks.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{
    Endpoint,
    answer_stream::{AnswerStream, VendorDialect, VendorRequest, parse},
    call_timer::CallTimer,
    count::TokenCount,
    embedding::{Embedding, Vectors, embed},
    fault::VendorFault,
    frames::Framing,
    http::{Http, KeyHeader},
};
use crate::{
    Embedder, FailureKind, Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Speaker, structured::portable,
};

#[derive(Debug)]
pub struct Ollama {
    http: Http,
    model: OnceCell<String>,
}

/// A list of models is short.
const LIST_BYTES_MAX: usize = 4 * 1024 * 1024;

impl Ollama {
    /// Its default address.
    pub const BASE_URL: &str = "http://localhost:11434";

    /// Without `model`, uses the first one that the server lists, determined on the first call. The
    /// base URL ends before `/api`.
    pub fn new(endpoint: Endpoint, model: Option<String>) -> Result<Self, ModelFailure> {
        Ok(Self { http: Http::new(endpoint, "/api", KeyHeader::Bearer)?, model: OnceCell::new_with(model) })
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
        struct OllamaModels {
            models: Vec<OllamaModelEntry>,
        }
        #[derive(Deserialize)]
        struct OllamaModelEntry {
            name: String,
        }
        let patience = CallTimer::of(&self.http.endpoint);
        let tags: OllamaModels = self.http.fetch(self.http.get("/api/tags"), &patience, LIST_BYTES_MAX).await?;
        let first = tags.models.into_iter().next();
        first.map(|tag| tag.name).ok_or_else(|| {
            VendorFault::new(FailureKind::Refused, "the server has no model: get one with `ollama pull`")
        })
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Embedding>, VendorFault> {
        let model = self.model().await?;
        let body = |batch: &[String]| json!({ "model": model, "input": batch });
        embed::<OllamaEmbeddings>(&self.http, texts, "/api/embed", body).await
    }

    async fn one(&self, request: &ModelRequest, hear: &mut dyn Hear) -> Result<ModelAnswer, VendorFault> {
        let model = self.model().await?;
        let asked = VendorRequest { request, model, path: "/api/chat", body: body(request, model).to_string() };
        self.http.tell(asked, OllamaDialect, hear, |post| post).await
    }
}

impl Model for Ollama {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        async move { self.one(request, hear).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

impl Embedder for Ollama {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>> {
        async move { self.vectors(texts).await.map_err(|fault| self.http.failure(fault)) }.boxed()
    }
}

#[derive(Deserialize)]
struct OllamaEmbeddings {
    embeddings: Vec<Embedding>,
}

impl Vectors for OllamaEmbeddings {
    fn in_order(self) -> Result<Vec<Embedding>, VendorFault> {
        Ok(self.embeddings)
    }
}

fn body(request: &ModelRequest, model: &str) -> Value {
    let system = request.system.iter().map(|text| json!({ "role": "system", "content": text }));
    let said = request.messages.iter().map(|message| {
        let role = match message.speaker {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        json!({ "role": role, "content": message.text })
    });
    let mut options = json!({ "num_predict": request.max_tokens });
    if let Some(temperature) = request.temperature {
        options["temperature"] = temperature.into();
    }
    if let Some(seed) = request.seed {
        // Ollama's seed has 31 bits.
        options["seed"] = (seed & 0x7fff_ffff).into();
    }
    let mut body = json!({
        "model": model,
        "messages": system.chain(said).collect::<Vec<_>>(),
        "stream": true,
        "options": options,
    });
    if let Some(schema) = &request.schema {
        body["format"] = portable(&schema.schema);
    }
    body
}

/// Each line is a reply with the next piece of text; the last one is marked.
struct OllamaDialect;

#[derive(Deserialize)]
struct OllamaReply {
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    message: Option<OllamaMessage>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: TokenCount,
    #[serde(default)]
    eval_count: TokenCount,
}

#[derive(Deserialize)]
struct OllamaMessage {
    #[serde(default)]
    content: Option<String>,
}

impl VendorDialect for OllamaDialect {
    const FRAMING: Framing = Framing::Lines;

    fn event(&mut self, message: &str, told: &mut AnswerStream<'_>) -> Result<(), VendorFault> {
        let reply: OllamaReply = parse(message)?;
        if let Some(error) = reply.error.filter(|error| !error.is_null()) {
            return Err(VendorFault::told(&error));
        }
        if reply.message.is_none() && reply.done.is_none() {
            return Err(VendorFault::malformed("answered with JSON that is no reply of Ollama's: check the base URL"));
        }
        told.version = reply.model.or(told.version.take());
        told.input_tokens = reply.prompt_eval_count.or(told.input_tokens);
        told.output_tokens = reply.eval_count.or(told.output_tokens);
        told.say(reply.message.and_then(|message| message.content).as_deref().unwrap_or_default())?;
        if reply.done == Some(true) {
            // Older servers give no reason.
            told.finish = Some(finish(reply.done_reason.as_deref().unwrap_or("stop"))?);
            told.over = true;
        }
        Ok(())
    }
}

fn finish(reason: &str) -> Result<Finish, VendorFault> {
    match reason {
        // Loading or unloading a model produces no text, which is detected elsewhere.
        "stop" | "load" | "unload" | "" => Ok(Finish::Stop),
        "length" => Ok(Finish::Length),
        other => Err(VendorFault::malformed(format!("ended for a reason that nobody knows: {other}"))),
    }
}
