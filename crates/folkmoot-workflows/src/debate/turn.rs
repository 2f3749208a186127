//! One turn of an agent: what it is asked, which calls that takes, and how its answer is read.

use std::sync::Arc;

use folkmoot_core::{
    Name,
    gate::{Choice, GateKind, OnTimeout, Risk},
    text::{TITLE_BYTES_MAX, shortened},
};
use folkmoot_debate::{Agent, DebateEvent, NoteKind, Steering, TurnPart, TurnState, agent::Share, record};
use folkmoot_engine::{Ctx, Failure, GateSpec};
use folkmoot_llm::{
    Cue, Message, ModelAnswer, ModelFailure, ModelRequest, PromptContext, Prompts, Schema, Speaker,
    record::CallOutcome,
    structured::{self, SchemaValidator},
};
use folkmoot_tools::tool::{Steps, ToolCall, ToolError, ToolTurn, TurnLimits, TurnOutcome, turn_by};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{
    DebateContext, PhaseAttempt, ToolContext,
    parts::{Part, has_tools},
    state::Candidate,
};
use crate::ModelCall;

/// The longest reason that is recorded for a turn without an answer.
const WHY_BYTES: usize = 1_000;
/// How much is kept of a text that is not an answer.
const UNPARSED_BYTES: usize = 16 * 1024;
/// The longest answer, as JSON. All answers together must fit into the prompts and the records of
/// others.
const ANSWER_BYTES_MAX: usize = 128 * 1024;
/// How much is kept of the results of a turn's tool calls, as JSON.
const TOOL_CALLS_BYTES_MAX: usize = 512 * 1024;
/// The model of a turn in which no model answered.
const NO_MODEL: &str = "none";
/// The most notes and answers that a prompt contains, in bytes, besides the topic.
const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// What an agent is asked in a turn, besides the part.
pub(super) struct TurnRequest<'a> {
    pub at: PhaseAttempt,
    /// Names the turn in its branch of the run.
    pub key: String,
    pub agent: &'a Agent,
    pub notes: Vec<(NoteKind, String)>,
    /// The answers that it reads, numbered from 1 in this order.
    pub shown: Vec<&'a Candidate>,
    /// What the rehearsal model makes its answer from.
    pub given: Value,
    pub attempt: u32,
    /// Test results that are recorded with the turn.
    pub results: Value,
    /// More that is recorded with the turn.
    pub metadata: Value,
}

impl<'a> TurnRequest<'a> {
    pub fn new(at: PhaseAttempt, key: impl Into<String>, agent: &'a Agent) -> Self {
        Self {
            at,
            key: key.into(),
            agent,
            notes: Vec::new(),
            shown: Vec::new(),
            given: Value::Null,
            attempt: 0,
            results: Value::Null,
            metadata: Value::Null,
        }
    }
}

/// The result of a turn: an answer of type `A`, or the reason why there is none.
#[derive(Clone, Debug)]
pub(super) struct TurnResult<A> {
    /// The turn's id.
    pub id: String,
    pub agent: Name,
    pub state: TurnState,
    /// Why there is no answer.
    pub why: String,
    /// Present if the state is `Answered`.
    pub answer: Option<A>,
    pub confidence: Option<Share>,
    /// The answer as people read it.
    pub text: String,
    /// The provider and model that spoke. They can be a fallback of the agent's own.
    pub provider: String,
    pub model: String,
}

impl<A> TurnResult<A> {
    /// The same turn with its answer converted.
    pub fn map<B>(self, convert: impl FnOnce(A) -> B) -> TurnResult<B> {
        let Self { id, agent, state, why, answer, confidence, text, provider, model } = self;
        TurnResult { id, agent, state, why, answer: answer.map(convert), confidence, text, provider, model }
    }
}

impl DebateContext {
    /// Asks an agent for one part of the debate. Every call is a step, and the turn is recorded.
    pub async fn ask<P: Part>(
        &self,
        ctx: &Ctx,
        part: P,
        request: TurnRequest<'_>,
    ) -> Result<TurnResult<P::Answer>, Failure> {
        // Only the voice that the configuration names for this agent, or a fallback of its
        // provider, reads the prompt.
        let named = self.voices.get(&request.agent.id).or(self.default_voice.as_ref());
        let named = named.ok_or_else(|| Failure::new("invalid_journal", "no voice was chosen"))?;
        let call = ModelCall {
            key: request.key.clone(),
            agent: request.agent.id.clone(),
            model: Arc::clone(&named.voice.model),
            price: named.voice.price,
            request: ModelRequest {
                max_tokens: self.config.max_tokens.unwrap_or(named.voice.max_tokens),
                ..self.model_request(&part, &request)?
            },
        };
        let turn = self.call(ctx, part.part(), &request, call).await?;
        let result = self.read(ctx, &part, &request, &turn, &named.provider);
        self.record(ctx, part.part(), request, turn, &result).await?;
        Ok(result)
    }

    async fn call(
        &self,
        ctx: &Ctx,
        part: TurnPart,
        request: &TurnRequest<'_>,
        call: ModelCall,
    ) -> Result<Result<ToolTurn, ModelFailure>, Failure> {
        let model_request = call.request.clone();
        let mut steps = TurnSteps { ctx, debate: self, call, agent: request.agent, asked: 0, called: 0 };
        let calls_max = usize::try_from(self.config.tool_calls_max).unwrap_or(usize::MAX);
        match self.offers.get(&request.agent.id).filter(|offers| has_tools(part) && !offers.is_empty()) {
            Some(offers) if calls_max > 0 => {
                turn_by(&mut steps, &self.prompts, model_request, offers, TurnLimits { calls_max }).await
            }
            _ => without_tools(&mut steps, &self.prompts, model_request).await,
        }
    }

    fn model_request<P: Part>(&self, part: &P, request: &TurnRequest<'_>) -> Result<ModelRequest, Failure> {
        let answers = || request.shown.iter().map(|candidate| candidate.text.as_str());
        let texts = || request.notes.iter().map(|(_, text)| text.as_str()).chain(answers());
        let all: usize = texts().map(str::len).sum();
        let share = if all > PROMPT_BYTES_MAX { PROMPT_BYTES_MAX / texts().count() } else { all };
        let cut = |text: &str| match text.len() > share {
            true => format!("{}\n… (cut)", &text[..text.floor_char_boundary(share)]),
            false => text.to_owned(),
        };
        let note =
            |(kind, text): &(NoteKind, String)| PromptContext::new().word("kind", kind.word()).data("text", cut(text));
        let word = part.part().word();
        let context = PromptContext::new()
            .word("part", word)
            .data("topic", &self.config.topic)
            .list("notes", request.notes.iter().map(note).collect())
            .list("answers", answers().map(|text| PromptContext::new().data("text", cut(text))).collect());
        let text = self.prompts.render("debate/turn.md", &context)?;
        let cue = Cue {
            part: word.to_owned(),
            agent: request.agent.id.to_string(),
            topic: self.config.topic.clone(),
            attempt: request.attempt,
            given: request.given.clone(),
        };
        Ok(ModelRequest {
            system: Some(self.prompts.system(request.agent.role, request.agent.domain)?),
            messages: vec![Message { speaker: Speaker::User, text }],
            schema: Some(Schema { name: word.to_owned(), schema: part.schema() }),
            cue: Some(cue),
            ..ModelRequest::new("")
        })
    }

    fn read<P: Part>(
        &self,
        ctx: &Ctx,
        part: &P,
        request: &TurnRequest<'_>,
        turn: &Result<ToolTurn, ModelFailure>,
        provider: &str,
    ) -> TurnResult<P::Answer> {
        let last = turn.as_ref().ok().and_then(|turn| turn.answers.last());
        let unparsed = |why: String| {
            let text = last.map_or("", |answer| &answer.text);
            (TurnState::Unparsed, why, None, shortened(text, UNPARSED_BYTES))
        };
        let failed = |failure: &ModelFailure| (TurnState::Failed, failure.to_string(), None, String::new());
        let (state, why, answer, text) = match turn.as_ref().map(|turn| &turn.outcome) {
            Ok(TurnOutcome::Answered(value)) => match typed::<P::Answer>(value) {
                Ok(answer) => {
                    let text = P::render(&answer);
                    match part.check(&answer).and_then(|()| self.check_steering(part.part(), request.agent, value)) {
                        Ok(()) => (TurnState::Answered, String::new(), Some(answer), text),
                        Err(why) => (TurnState::Refused, why, None, shortened(&text, UNPARSED_BYTES)),
                    }
                }
                Err(why) => unparsed(why),
            },
            Ok(TurnOutcome::Unparsed { why }) => unparsed(why.clone()),
            Ok(TurnOutcome::OutOfCalls) => unparsed("it wanted to call tools for ever".to_owned()),
            Ok(TurnOutcome::Failed(failure)) | Err(failure) => failed(failure),
        };
        TurnResult {
            id: record::uuid(&[ctx.run_id().as_str(), &ctx.key_in_run(&request.key)]),
            agent: request.agent.id.clone(),
            state,
            // Shortened, because it can quote the model.
            why: shortened(&why, WHY_BYTES),
            confidence: answer.as_ref().and_then(P::confidence).and_then(share),
            answer,
            text,
            provider: last.map_or_else(|| provider.to_owned(), |answer| answer.provider.clone()),
            model: last.map_or_else(|| NO_MODEL.to_owned(), |answer| answer.model.clone()),
        }
    }

    /// Refuses an answer that tries to steer the debate instead of taking part in it.
    fn check_steering(&self, part: TurnPart, agent: &Agent, answer: &Value) -> Result<(), String> {
        let mut texts = Vec::new();
        strings(answer, &mut texts);
        let steering = texts.iter().filter_map(|text| Steering::of(text, &agent.id, &self.config.topic));
        // An agent that judges the answers of others may say which ranks first.
        match steering.into_iter().find(|sort| part.is_an_answer() || *sort != Steering::Votes) {
            Some(sort) => Err(sort.why().to_owned()),
            None => Ok(()),
        }
    }

    async fn record<A>(
        &self,
        ctx: &Ctx,
        part: TurnPart,
        request: TurnRequest<'_>,
        turn: Result<ToolTurn, ModelFailure>,
        result: &TurnResult<A>,
    ) -> Result<(), Failure> {
        let none = ToolTurn { answers: Vec::new(), tool_calls: Vec::new(), outcome: TurnOutcome::OutOfCalls };
        let turn = turn.unwrap_or(none);
        let last = turn.answers.last();
        let sum = |of: fn(&ModelAnswer) -> u64| turn.answers.iter().map(of).sum::<u64>();
        let (tokens, usd_micros) =
            (sum(|answer| answer.usage.total()), sum(|answer| answer.cost_usd_micros.unwrap_or(0)));
        let response_time_ms = sum(|answer| answer.latency_ms);
        let (provider, model) = (result.provider.clone(), result.model.clone());
        let told = DebateEvent::Turn {
            turn: result.id.clone(),
            phase: request.at.phase,
            round: request.at.round,
            agent: result.agent.clone(),
            role: request.agent.role,
            part: part.word().to_owned(),
            state: result.state,
            why: result.why.clone(),
            provider: provider.clone(),
            model: model.clone(),
            tool_calls: u32::try_from(turn.tool_calls.len()).unwrap_or(u32::MAX),
            response_time_ms,
            tokens,
            usd_micros,
        };
        let mut metadata = json!({
            "part": part, "state": result.state, "why": result.why, "calls": turn.answers.len(),
            "tokens": tokens, "usd_micros": usd_micros, "version": last.and_then(|answer| answer.version.clone()),
            "step": ctx.key_in_run(&request.key),
        });
        if let (Some(all), Value::Object(more)) = (metadata.as_object_mut(), request.metadata) {
            all.extend(more);
        }
        let mut reflections = Value::Null;
        if let (TurnOutcome::Answered(value), TurnPart::Reflect, TurnState::Answered) =
            (turn.outcome, part, result.state)
        {
            reflections = value;
        }
        let row = record::TurnRecord {
            id: result.id.clone(),
            round: request.at.round,
            phase: request.at.phase,
            agent_id: result.agent.clone(),
            agent_role: request.agent.role,
            provider,
            model,
            content: result.text.clone(),
            confidence: result.confidence,
            tool_calls: tool_calls(&turn.tool_calls)?,
            test_results: request.results,
            reflections,
            metadata,
            response_time_ms,
        };
        let records = vec![record::DebateRecord::Turn(Box::new(row)), super::line(&told)];
        ctx.keep(format!("{}/turn", request.key), told.kind(), &told, records).await
    }
}

/// Every text in a value.
fn strings<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(members) => members.values().for_each(|item| strings(item, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Makes every call of a turn a step.
struct TurnSteps<'a> {
    ctx: &'a Ctx,
    debate: &'a DebateContext,
    call: ModelCall,
    agent: &'a Agent,
    asked: u32,
    called: u32,
}

impl Steps for TurnSteps<'_> {
    type Error = Failure;

    fn ask<'a>(
        &'a mut self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<Result<ModelAnswer, ModelFailure>, Failure>> {
        self.asked += 1;
        let key = format!("{}/{}", self.call.key, self.asked);
        let call = ModelCall { key, request: request.clone(), ..self.call.clone() };
        Box::pin(async move {
            Ok(match self.debate.budget.call(self.ctx, call).await?.outcome {
                CallOutcome::Answered(answer) => Ok(answer),
                CallOutcome::Failed(failure) => Err(failure),
            })
        })
    }

    fn call<'a>(&'a mut self, tool: &'a str, arguments: Value) -> BoxFuture<'a, Result<ToolCall, Failure>> {
        self.called += 1;
        let key = format!("{}/tool/{}", self.call.key, self.called);
        let input = json!({ "tool": tool, "arguments": arguments });
        let (effects, kinds) = (Arc::clone(&self.debate.effects), self.agent.tools().to_vec());
        let (debate, branch) = (self.ctx.run_id().to_string(), self.debate.branch.clone());
        let place = ToolContext { debate, role: self.ctx.role(), branch };
        let mut offers = self.debate.offers.get(&self.agent.id).into_iter().flatten();
        let has_effects = offers.any(|offer| offer.name == tool && offer.effects);
        let (tool, given) = (tool.to_owned(), arguments.clone());
        let work = {
            let tool = tool.clone();
            move || {
                let (effects, kinds, place) = (Arc::clone(&effects), kinds.clone(), place.clone());
                let (tool, arguments) = (tool.clone(), arguments.clone());
                async move { Ok(effects.call(place, kinds, tool, arguments, has_effects).await) }
            }
        };
        Box::pin(async move {
            let step = |work| self.ctx.step(&key, work).input(&input).agent(self.agent.id.clone());
            if !has_effects {
                return step(work).await;
            }
            match self.debate.ask_about_call(self.ctx, &key, self.agent, &tool, &given).await? {
                // `once`, because nobody knows whether the call may be repeated.
                Ok(()) => step(work).once().await,
                Err(why) => Ok(ToolCall { tool, arguments: given, result: Err(ToolError::failed(why)), elapsed_ms: 0 }),
            }
        })
    }
}

impl DebateContext {
    /// Asks people before a call of a tool that may change something outside. The inner `Err` says
    /// why they do not want it.
    async fn ask_about_call(
        &self,
        ctx: &Ctx,
        key: &str,
        agent: &Agent,
        tool: &str,
        arguments: &Value,
    ) -> Result<Result<(), String>, Failure> {
        let summary = format!(
            "{} wants to call {tool}, a tool of an MCP server that does not say that it only reads. What it is given is in the \
             artifact. Approve, and it is called once. Reject, and the debate goes on without it.",
            agent.id
        );
        let mut gate = GateSpec::new(summary)
            .title(shortened(&format!("{} wants to call {tool}", agent.id), TITLE_BYTES_MAX))
            .kind(GateKind::Tool)
            .risk(Risk::High)
            // Silence allows no effects, whatever the configuration says of other gates.
            .on_timeout(OnTimeout::Fail)
            .allow([Choice::Approve, Choice::Reject])
            .artifact("arguments.json", "application/json", serde_json::to_vec_pretty(arguments)?);
        if let Some(reviewers) = &self.config.gates.reviewers {
            gate = gate.reviewers(reviewers.iter().cloned());
        }
        for channel in &self.config.gates.notification_channels {
            gate = gate.notify(channel);
        }
        let decided = ctx.gate(format!("{key}/gate"), gate).await?;
        let refused = || format!("a person did not allow this call: {}", decided.decision.reason);
        Ok(if decided.may_proceed() { Ok(()) } else { Err(refused()) })
    }
}

/// A turn without tools: one call, and a second one if the first answer cannot be read.
async fn without_tools(
    steps: &mut TurnSteps<'_>,
    prompts: &Prompts,
    request: ModelRequest,
) -> Result<Result<ToolTurn, ModelFailure>, Failure> {
    let schema = request.schema.as_ref().map(|schema| schema.schema.clone()).unwrap_or_default();
    let shape = SchemaValidator::new(&schema).map_err(|why| Failure::new("schema", why))?;
    let mut turn = ToolTurn { answers: Vec::new(), tool_calls: Vec::new(), outcome: TurnOutcome::OutOfCalls };
    let mut asked = request;
    loop {
        let answer = match steps.ask(&asked).await? {
            Ok(answer) => answer,
            Err(failure) if turn.answers.is_empty() => return Ok(Err(failure)),
            Err(failure) => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Failed(failure), ..turn })),
        };
        let read = structured::read(&shape, &answer);
        let again = read.as_ref().err().filter(|_| turn.answers.is_empty()).cloned();
        turn.answers.push(answer);
        match (read, again) {
            (Ok(value), _) => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Answered(value), ..turn })),
            (Err(why), None) => return Ok(Ok(ToolTurn { outcome: TurnOutcome::Unparsed { why }, ..turn })),
            (Err(_), Some(why)) => asked = structured::repair(prompts, &asked, &turn.answers[0], &why)?,
        }
    }
}

/// An answer as its type, if it can be stored and shown. It fits the schema already.
fn typed<A: DeserializeOwned>(value: &Value) -> Result<A, String> {
    if folkmoot_core::text::holds_nul(value) {
        return Err("it holds the character U+0000, which cannot be stored".to_owned());
    }
    match value.to_string().len() {
        0..=ANSWER_BYTES_MAX => serde_json::from_value(value.clone()).map_err(|error| error.to_string()),
        bytes => Err(format!("it is {bytes} bytes long; at most {ANSWER_BYTES_MAX} are read")),
    }
}

/// The tool calls as they are stored: complete if they fit, else only the names of the tools.
fn tool_calls(calls: &[ToolCall]) -> Result<Value, Failure> {
    let all = serde_json::to_value(calls)?;
    if all.to_string().len() <= TOOL_CALLS_BYTES_MAX
        && !folkmoot_core::text::holds_nul(&all)
        && folkmoot_core::text::json("tool_calls", &all).is_ok()
    {
        return Ok(all);
    }
    let shown = |call: &ToolCall| json!({ "tool": shortened(&call.tool, 200), "shortened": true });
    Ok(calls.iter().map(shown).collect())
}

/// A number from 0 to 1 as a share.
pub(super) fn share(number: f64) -> Option<Share> {
    // The product is at most 100.
    (0.0..=1.0).contains(&number).then(|| Share::hundredths((number * 100.0).round() as u8).ok()).flatten()
}
