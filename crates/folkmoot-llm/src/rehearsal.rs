//! The rehearsal: a built-in substitute for a model. It needs no network and says that it is not a
//! model.
//!
//! It knows a few [exercises](Exercise), with solutions of different quality and tests that tell
//! them apart. So its statements about them are true: code fails, is criticised, attacked,
//! repaired, and passes. On other topics it says little, always the same. The [`Cue`] tells it the
//! purpose of a call; it does not understand prompts. If it has written code and has a tool for it,
//! it runs the tests once and reports the result.

mod debate;
mod exercise;
mod fill;
mod material;
mod plan;
#[cfg(test)]
mod tests;
mod tool;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

pub use self::exercise::{Exercise, RehearsedSolution, Test, exercises};
use crate::{Finish, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, TokenUsage, request::TOOL_TURN};

/// Its name as a provider.
pub const NAME: &str = "rehearsal";

/// The beginning of its texts, so that nobody takes them for a model's.
pub const NOTICE: &str = "(Rehearsal: no model was asked.)";

#[derive(Clone, Copy, Debug, Default)]
pub struct Rehearsal;

impl Model for Rehearsal {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            let begun = Instant::now();
            let material = material::for_request(request);
            let text = match &request.schema {
                Some(schema) if schema.name == TOOL_TURN => match tool::call(request, &schema.schema, &material) {
                    Some(call) => call.to_string(),
                    None => in_a_tool_turn(&schema.schema, &tool::with_result(request, material)).to_string(),
                },
                Some(schema) => fill::fill(&schema.schema, &material).to_string(),
                None => prose(&material),
            };
            let (text, finish) = cut(text, request.max_tokens);
            for piece in text.split_inclusive(' ') {
                hear.piece(piece);
                // Lets a listener show the output, and a cancellation take effect.
                tokio::task::yield_now().await;
            }
            Ok(ModelAnswer {
                usage: TokenUsage::estimate(request, text.len()),
                text,
                finish,
                provider: NAME.to_owned(),
                model: NAME.to_owned(),
                version: Some(concat!("rehearsal-", env!("CARGO_PKG_VERSION")).to_owned()),
                latency_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                cost_usd_micros: Some(0),
                sent: serde_json::to_string(request).expect("a request is plain data"),
                failed: Vec::new(),
            })
        })
    }
}

/// The answer in the form of a turn with tools.
fn in_a_tool_turn(schema: &Value, material: &Map<String, Value>) -> Value {
    match schema.pointer("/properties/answer") {
        Some(answer) if answer.get("type").is_some_and(|word| word != "string") => {
            json!({ "answer": fill::part(schema, answer, material) })
        }
        _ => json!({ "answer": prose(material) }),
    }
}

/// The answer for people: the notice, the text and the code.
fn prose(material: &Map<String, Value>) -> String {
    let text = |key| material.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut prose = format!("{NOTICE} {}", text("summary"));
    if !text("code").is_empty() {
        prose.push_str(&format!("\n\n```{}\n{}\n```", text("language"), text("code").trim()));
    }
    prose
}

/// Applies the maximum length, at four bytes per token.
fn cut(mut text: String, max_tokens: u32) -> (String, Finish) {
    let bytes_max = usize::try_from(max_tokens).unwrap_or(usize::MAX).saturating_mul(4);
    if text.len() <= bytes_max {
        return (text, Finish::Stop);
    }
    text.truncate(text.floor_char_boundary(bytes_max));
    (text, Finish::Length)
}
