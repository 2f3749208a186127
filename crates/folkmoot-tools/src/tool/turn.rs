//! One turn of an agent with tools: it calls tools until it answers.
//!
//! ```text
//! ask ─▶ {"tool": …, "arguments": …} ─▶ the tool is called, its result goes back as data ─▶ ask …
//!    └─▶ {"answer": …}               ─▶ Answered
//!    └─▶ anything else               ─▶ one repair, then Unparsed
//! ```
//!
//! The protocol is JSON in plain text, so that every provider supports it. Model output is never
//! guessed at: an answer has exactly the required shape.

use std::convert::Infallible;

use folkmoot_llm::{
    FailureKind, Finish, Hear, Message, Model, ModelAnswer, ModelFailure, ModelRequest, Prompts, Schema, Speaker,
    prompt::PromptContext,
    request::TOOL_TURN,
    structured::{self, SchemaValidator},
};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ToolCall, ToolOffer, Toolbox};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnLimits {
    /// The maximum number of tool calls, including failed ones. After the last the model must
    /// answer.
    pub calls_max: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { calls_max: 8 }
    }
}

/// The record of a turn, for the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolTurn {
    /// Every answer of the model, including tool calls.
    pub answers: Vec<ModelAnswer>,
    /// In order.
    pub tool_calls: Vec<ToolCall>,
    pub outcome: TurnOutcome,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    /// An answer of the request's shape, or a text if it has none.
    Answered(Value),
    /// Not an answer, even after a second request.
    Unparsed { why: String },
    /// It kept calling tools.
    OutOfCalls,
    /// The model failed after at least one answer. What was paid for and what tools did is kept.
    Failed(ModelFailure),
}

/// How a turn calls its model and tools: directly, or as steps of a run.
pub trait Steps: Send {
    /// Ends the turn without an outcome.
    type Error: Send;

    /// Asks the model. Its failure is part of the result.
    fn ask<'a>(
        &'a mut self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<Result<ModelAnswer, ModelFailure>, Self::Error>>;

    /// Calls a tool. Its failure is part of the record.
    fn call<'a>(&'a mut self, tool: &'a str, arguments: Value) -> BoxFuture<'a, Result<ToolCall, Self::Error>>;
}

struct AtOnce<'a> {
    model: &'a dyn Model,
    tools: &'a Toolbox,
    hear: &'a mut dyn Hear,
    asked: bool,
}

impl Steps for AtOnce<'_> {
    type Error = Infallible;

    fn ask<'a>(
        &'a mut self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<Result<ModelAnswer, ModelFailure>, Infallible>> {
        if std::mem::replace(&mut self.asked, true) {
            self.hear.again();
        }
        Box::pin(async move { Ok(self.model.ask(request, self.hear).await) })
    }

    fn call<'a>(&'a mut self, tool: &'a str, arguments: Value) -> BoxFuture<'a, Result<ToolCall, Infallible>> {
        Box::pin(async move { Ok(self.tools.call(tool, arguments).await) })
    }
}

/// Lets a model answer a request with tools. Without tools it is a plain or structured call.
///
/// If the first call fails. Tool errors are reported to the model and recorded.
pub async fn turn(
    model: &dyn Model,
    prompts: &Prompts,
    request: ModelRequest,
    tools: &Toolbox,
    limits: TurnLimits,
    hear: &mut dyn Hear,
) -> Result<ToolTurn, ModelFailure> {
    if tools.is_empty() {
        return without_tools(model, prompts, request, hear).await;
    }
    let mut steps = AtOnce { model, tools, hear, asked: false };
    let Ok(turn) = turn_by(&mut steps, prompts, request, &tools.offers(), limits).await;
    turn
}

/// The same with at least one tool; the caller says how to reach the model and the tools.
pub async fn turn_by<S: Steps>(
    steps: &mut S,
    prompts: &Prompts,
    request: ModelRequest,
    offers: &[ToolOffer],
    limits: TurnLimits,
) -> Result<Result<ToolTurn, ModelFailure>, S::Error> {
    let key = request.idempotency_key.clone();
    let introduced = Protocol::new(prompts, request.schema.as_ref(), offers)
        .and_then(|protocol| protocol.introduce(request, limits).map(|asked| (protocol, asked)));
    let (protocol, mut asked) = match introduced {
        Ok(introduced) => introduced,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut turn = ToolTurn { answers: Vec::new(), tool_calls: Vec::new(), outcome: TurnOutcome::OutOfCalls };
    let mut is_repair = false;
    loop {
        let answer = match steps.ask(&asked).await? {
            Ok(answer) => answer,
            Err(failure) if turn.answers.is_empty() => return Ok(Err(failure)),
            Err(failure) => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Failed(failure), ..turn })),
        };
        let said = protocol.read(&answer);
        asked.messages.push(Message { speaker: Speaker::Assistant, text: answer.text.clone() });
        turn.answers.push(answer);
        let reply = match said {
            Ok(ModelReply::Answer(value)) => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Answered(value), ..turn })),
            Ok(ModelReply::Call { .. }) if turn.tool_calls.len() >= limits.calls_max => return Ok(Ok(turn)),
            Ok(ModelReply::Call { tool, arguments }) => {
                is_repair = false;
                turn.tool_calls.push(steps.call(&tool, arguments).await?);
                protocol.tell(turn.tool_calls.last(), limits.calls_max - turn.tool_calls.len())
            }
            Err(why) if is_repair => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Unparsed { why }, ..turn })),
            Err(why) => {
                is_repair = true;
                protocol.repair(&why)
            }
        };
        let reply = match reply {
            Ok(reply) => reply,
            Err(failure) => return Ok(Err(failure)),
        };
        asked.messages.push(Message { speaker: Speaker::User, text: reply });
        // Each call has its own idempotency key.
        asked.idempotency_key = key.as_ref().map(|key| format!("{key}-{}", turn.answers.len()));
    }
}

async fn without_tools(
    model: &dyn Model,
    prompts: &Prompts,
    request: ModelRequest,
    hear: &mut dyn Hear,
) -> Result<ToolTurn, ModelFailure> {
    let (outcome, answers) = if request.schema.is_some() {
        let structured = structured::ask(model, prompts, &request, hear).await?;
        let outcome = match structured.outcome {
            structured::ParseOutcome::Parsed(value) => TurnOutcome::Answered(value),
            structured::ParseOutcome::Unparsed(why) => TurnOutcome::Unparsed { why },
        };
        (outcome, structured.answers)
    } else {
        let answer = model.ask(&request, hear).await?;
        (TurnOutcome::Answered(Value::String(answer.text.clone())), vec![answer])
    };
    Ok(ToolTurn { answers, tool_calls: Vec::new(), outcome })
}

#[derive(Debug, PartialEq)]
enum ModelReply {
    Answer(Value),
    Call { tool: String, arguments: Value },
}

/// How tools are explained and called in one turn.
#[derive(Debug)]
struct Protocol<'a> {
    prompts: &'a Prompts,
    offers: &'a [ToolOffer],
    /// The required shape of the answer; a text by default.
    form: Value,
    answer: SchemaValidator,
    /// The schema of every message of the model.
    schema: Value,
    message: SchemaValidator,
}

impl<'a> Protocol<'a> {
    fn new(prompts: &'a Prompts, asked: Option<&Schema>, offers: &'a [ToolOffer]) -> Result<Self, ModelFailure> {
        let form = asked.map_or_else(|| json!({ "type": "string" }), |asked| asked.schema.clone());
        let mut schema = schema(&form);
        let compiled = |schema: &Value| {
            SchemaValidator::new(schema).map_err(|why| misconfigured(format!("a schema cannot be used: {why}")))
        };
        let message = compiled(&schema)?;
        // A model that calls another tool is told the available ones, without repeating everything.
        schema["properties"]["tool"]["enum"] = json!(names(offers));
        Ok(Self { prompts, offers, answer: compiled(&form)?, message, form, schema })
    }

    /// Adds the tools and their use to the request's instructions.
    fn introduce(&self, request: ModelRequest, limits: TurnLimits) -> Result<ModelRequest, ModelFailure> {
        let context = PromptContext::new()
            .data("tools", super::describe(self.offers).trim_end())
            .data("form", self.form.to_string());
        let tool_use = self.render("parts/tool_use.md", context.number("calls_left", number(limits.calls_max)))?;
        let system = request.system.map_or(tool_use.clone(), |system| format!("{system}\n\n{tool_use}"));
        let schema = Schema { name: TOOL_TURN.to_owned(), schema: self.schema.clone() };
        Ok(ModelRequest { system: Some(system), schema: Some(schema), ..request })
    }

    /// The result of a call, for the model.
    fn tell(&self, call: Option<&ToolCall>, left: usize) -> Result<String, ModelFailure> {
        let (call, result) = call.map_or_else(Default::default, |call| {
            let result = match &call.result {
                Ok(Value::String(text)) => text.clone(),
                Ok(value) => value.to_string(),
                Err(error) => format!("it failed ({}): {}", error.code, error.detail),
            };
            (json!({ "tool": call.tool, "arguments": call.arguments }).to_string(), result)
        });
        let context = PromptContext::new().data("call", call).data("result", result);
        self.render("parts/tool_result.md", context.number("calls_left", number(left)))
    }

    fn repair(&self, why: &str) -> Result<String, ModelFailure> {
        let schema = json!({ "anyOf": [
            { "type": "object", "required": ["answer"], "properties": { "answer": self.form } },
            { "type": "object", "required": ["tool", "arguments"], "properties": {
                "tool": { "enum": names(self.offers) }, "arguments": { "type": "object" },
            } },
        ] });
        self.render("parts/repair.md", PromptContext::new().data("problems", why).data("schema", schema.to_string()))
    }

    fn render(&self, name: &str, context: PromptContext) -> Result<String, ModelFailure> {
        self.prompts.render(name, &context).map_err(|error| misconfigured(error.to_string()))
    }

    fn read(&self, answer: &ModelAnswer) -> Result<ModelReply, String> {
        let said = self.message.read(&answer.text).and_then(|said| self.understand(said));
        // Many models omit the wrapper. Something of exactly the required shape is the answer.
        let said = said.or_else(|why| match self.form["type"] == "object" {
            true => self.answer.read(&answer.text).map(ModelReply::Answer).map_err(|_| why),
            false => Err(why),
        });
        said.map_err(|why| match answer.finish {
            Finish::Stop => why,
            Finish::Length => format!("it was cut off at the longest that was asked for ({why})"),
        })
    }

    fn understand(&self, mut said: Value) -> Result<ModelReply, String> {
        let mut part = |name| said.get_mut(name).map(Value::take);
        match (part("tool"), part("arguments"), part("answer")) {
            (Some(Value::String(tool)), arguments, None) => {
                Ok(ModelReply::Call { tool, arguments: arguments.unwrap_or_else(|| json!({})) })
            }
            (None, None, Some(answer)) => self
                .answer
                .check(&answer)
                .map(|()| ModelReply::Answer(answer))
                .map_err(|why| format!("the answer: {why}")),
            (Some(_), _, None) => Err("`tool` is not a name".to_owned()),
            (Some(_), _, Some(_)) => Err("it calls a tool and answers at the same time".to_owned()),
            (None, Some(_), _) => Err("it has `arguments`, but no `tool`".to_owned()),
            (None, None, None) => Err("it has neither `tool` nor `answer`".to_owned()),
        }
    }
}

/// The schema for vendors that enforce one: a single flat object, because vendors differ about
/// unions. Which form it is, is checked here.
fn schema(form: &Value) -> Value {
    let mut schema = json!({
        "type": "object",
        "properties": { "tool": { "type": "string" }, "arguments": { "type": "object" }, "answer": form },
        "additionalProperties": false,
    });
    // References inside the form would point elsewhere, so their targets move along if they are in
    // `$defs`. Otherwise the form is only in the instructions, and still checked.
    match has_other_references(form) {
        true => schema["properties"]["answer"] = json!({}),
        false => {
            if let Some(parts) = schema["properties"]["answer"].as_object_mut().and_then(|form| form.remove("$defs")) {
                schema["$defs"] = parts;
            }
        }
    }
    schema
}

/// Whether it refers to anything but `#/$defs/…`.
fn has_other_references(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(has_other_references),
        Value::Object(fields) => fields.iter().any(|(key, value)| match key.as_str() {
            "$ref" => !value.as_str().is_some_and(|to| to.starts_with("#/$defs/")),
            "$dynamicRef" | "$recursiveRef" | "$id" => true,
            _ => has_other_references(value),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn names(offers: &[ToolOffer]) -> Vec<&str> {
    offers.iter().map(|offer| offer.name.as_str()).collect()
}

fn misconfigured(why: String) -> ModelFailure {
    ModelFailure::new("request", FailureKind::Misconfigured, why)
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
