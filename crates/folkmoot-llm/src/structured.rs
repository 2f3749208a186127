//! Structured answers: the schema is sent with the request, the answer is validated, and there is
//! one repair turn. An answer that does not fit after that is recorded as unparsed and never
//! counts.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    FailureKind, Finish, Hear, Message, Model, ModelAnswer, ModelFailure, ModelRequest, PromptContext, Prompts, Speaker,
};

mod bounds;
mod portable;
mod strict;
#[cfg(test)]
mod tests;

pub use bounds::Bounds;
pub use portable::{portable, strict};
pub use strict::parse;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StructuredAnswer {
    pub outcome: ParseOutcome,
    /// All calls in order: one, or two with the repair turn.
    pub answers: Vec<ModelAnswer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParseOutcome {
    /// A value that fits the schema.
    Parsed(Value),
    /// The reason, for the record.
    Unparsed(String),
}

/// Validates values against one schema.
#[derive(Debug)]
pub struct SchemaValidator {
    fits: jsonschema::Validator,
    bounds: Bounds,
    schema: Value,
}

/// How many problems are reported.
const FAULTS_TOLD: usize = 5;
/// The length of each report, which contains the model's words.
const FAULT_CHARS: usize = 300;

impl SchemaValidator {
    /// Compiles a schema. External references are refused and nothing is fetched; schemas that
    /// could take forever to check are refused too.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let bounds = Bounds::of(schema)?;
        let patterns = jsonschema::PatternOptions::fancy_regex().backtrack_limit(100_000).size_limit(1 << 20);
        let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
        built.map(|fits| Self { fits, bounds, schema: schema.clone() }).map_err(|error| error.to_string())
    }

    /// Returns what is wrong with a value.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.bounds.check(value)?;
        let faults: Vec<String> = self.fits.iter_errors(value).take(FAULTS_TOLD).map(|fault| told(&fault)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    /// Parses an answer. All of it must be JSON that fits; one code fence around all of it is
    /// removed.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        let value = parse(unfenced(text))?;
        let Err(why) = self.check(&value) else { return Ok(value) };
        // With a strict schema a model cannot omit anything and writes null instead.
        let mut lean = value;
        portable::without_nulls(&self.schema, &mut lean);
        self.check(&lean).map(|()| lean).map_err(|_| why)
    }
}

fn told(fault: &jsonschema::ValidationError<'_>) -> String {
    let place = fault.instance_path().to_string();
    let at = if place.is_empty() { String::new() } else { format!("{place}: ") };
    // Without the value: this report is stored where answers must not be.
    format!("{at}{}", fault.masked()).chars().take(FAULT_CHARS).collect()
}

/// Many models put a code fence around JSON, whatever the prompt says. Nothing else is removed.
fn unfenced(text: &str) -> &str {
    let text = unthought(text.trim());
    let inner =
        text.strip_prefix("```json").or_else(|| text.strip_prefix("```")).and_then(|text| text.strip_suffix("```"));
    inner.filter(|inner| inner.starts_with(char::is_whitespace)).map_or(text, str::trim)
}

/// Some local servers include the model's reasoning before the answer.
fn unthought(text: &str) -> &str {
    let thought = text.strip_prefix("<think>").and_then(|text| text.split_once("</think>"));
    thought.map_or(text, |(_, answer)| answer.trim())
}

/// Asks for an answer that fits the request's schema. `Err` means that a call failed; an answer
/// that does not fit is not an error.
pub async fn ask(
    model: &dyn Model,
    prompts: &Prompts,
    request: &ModelRequest,
    hear: &mut dyn Hear,
) -> Result<StructuredAnswer, ModelFailure> {
    let Some(schema) = &request.schema else {
        return Err(ModelFailure::new("request", FailureKind::Misconfigured, "a structured answer needs a schema"));
    };
    let shape = SchemaValidator::new(&schema.schema).map_err(|why| {
        let detail = format!("the schema `{}` cannot be used: {why}", schema.name);
        ModelFailure::new("request", FailureKind::Misconfigured, detail)
    })?;
    let first = model.ask(request, hear).await?;
    let why = match read(&shape, &first) {
        Ok(value) => return Ok(StructuredAnswer { outcome: ParseOutcome::Parsed(value), answers: vec![first] }),
        Err(why) => why,
    };
    hear.again();
    let repair = repair(prompts, request, &first, &why)?;
    let second = match model.ask(&repair, hear).await {
        Ok(second) => second,
        // The first call was made and paid for, so it is kept.
        Err(failure) => return Ok(unparsed(format!("{why}; the repair turn failed: {failure}"), vec![first])),
    };
    let outcome = read(&shape, &second);
    let answers = vec![first, second];
    Ok(match outcome {
        Ok(value) => StructuredAnswer { outcome: ParseOutcome::Parsed(value), answers },
        Err(again) => unparsed(format!("{why}; after the repair turn: {again}"), answers),
    })
}

/// Parses an answer, or says why it cannot be parsed.
pub fn read(shape: &SchemaValidator, answer: &ModelAnswer) -> Result<Value, String> {
    shape.read(&answer.text).map_err(|why| match answer.finish {
        Finish::Stop => why,
        Finish::Length => format!("the answer was cut off at the longest that was asked for ({why})"),
    })
}

fn unparsed(why: String, answers: Vec<ModelAnswer>) -> StructuredAnswer {
    let provider = answers.last().map_or_else(String::new, |answer| answer.provider.clone());
    metrics::counter!("folkmoot_model_unparsed_total", "provider" => provider).increment(1);
    StructuredAnswer { outcome: ParseOutcome::Unparsed(why), answers }
}

/// The same conversation with the problem appended. It has another idempotency key.
pub fn repair(
    prompts: &Prompts,
    request: &ModelRequest,
    answer: &ModelAnswer,
    why: &str,
) -> Result<ModelRequest, ModelFailure> {
    let schema = request.schema.as_ref().map_or_else(String::new, |schema| schema.schema.to_string());
    let text = prompts
        .render("parts/repair.md", &PromptContext::new().data("problems", why).data("schema", schema))
        .map_err(|error| ModelFailure::new("request", FailureKind::Misconfigured, error.to_string()))?;
    let mut repair = request.clone();
    repair.idempotency_key = request.idempotency_key.as_ref().map(|key| format!("{key}-repair"));
    repair.messages.push(Message { speaker: Speaker::Assistant, text: answer.text.clone() });
    repair.messages.push(Message { speaker: Speaker::User, text });
    Ok(repair)
}
