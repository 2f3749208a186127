//! Where a debate is held: who speaks with which voice, and how one turn of theirs goes.

use std::{collections::BTreeMap, sync::Arc};

use folkmoot_core::{
    Agent, Domain, Name,
    agent::{DebatePhase, Share},
    debate::{DebateEvent, NoteKind, Steering, TurnPart, TurnState, record},
    gate::{Choice, GateKind, Risk},
    text::TITLE_BYTES_MAX,
};
use folkmoot_engine::{Ctx, Failure, GateSpec};
use folkmoot_llm::{
    Cue, Embedder, Message, ModelAnswer, ModelRequest, PromptContext, Prompts, Schema, Speaker,
    record::CallOutcome as Called,
    structured::{self, SchemaValidator},
};
use folkmoot_tools::tool::{Steps, ToolCall, ToolError, ToolOffer, ToolTurn, TurnLimits, TurnOutcome, turn_by};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::{Branch, DebateConfig, Effects, ToolContext, words::words};
use crate::{ModelCall, RunBudget, Voice};

/// How much is told of why a turn has no answer.
const WHY_BYTES: usize = 1_000;
/// How much is kept of words that are no answer.
const UNPARSED_BYTES: usize = 16 * 1024;
/// The longest answer, as JSON. All of them together must fit into the prompts and the records of
/// others.
const ANSWER_BYTES_MAX: usize = 128 * 1024;
/// How much is kept of what tools gave in a turn, as JSON.
const TOOL_CALLS_BYTES_MAX: usize = 512 * 1024;
/// What a turn in which nobody answered says of its model.
const NO_MODEL: &str = "none";

/// The longest that an agent is told in one turn, beside the topic.
const PROMPT_BYTES_MAX: usize = 256 * 1024;

/// A voice, and the name that it is recorded under.
#[derive(Clone, Debug)]
pub(super) struct NamedVoice {
    pub provider: String,
    pub voice: Voice,
}

/// What every pass of a run works with. Nothing in it changes.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub debating: DebateConfig,
    pub domain: Domain,
    /// By agent.
    pub voices: BTreeMap<Name, NamedVoice>,
    /// Who speaks for the agents that have nobody of their own; nobody where all have.
    pub usual: Option<NamedVoice>,
    pub spending: RunBudget,
    pub prompts: Arc<Prompts>,
    pub effects: Arc<dyn Effects>,
    /// Who can tell how close texts are in meaning.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The tools of each agent that has some.
    pub offers: BTreeMap<Name, Vec<ToolOffer>>,
    pub branch: Option<Branch>,
}

/// When in a debate something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub phase: DebatePhase,
    pub round: u32,
    /// How often the phase was done before, because people wanted it again.
    pub again: u32,
}

impl At {
    /// A key of this moment.
    pub fn key(&self, name: &str) -> String {
        let again = if self.again == 0 { String::new() } else { format!("~{}", self.again + 1) };
        format!("{}/{}{again}/{name}", self.round, self.phase)
    }
}

/// What an agent is asked to do in a turn.
pub(super) struct TurnRequest<'a> {
    pub at: At,
    /// Names the turn in its branch of the run.
    pub key: String,
    pub agent: &'a Agent,
    pub part: TurnPart,
    pub notes: Vec<(NoteKind, String)>,
    pub answers: Vec<String>,
    pub schema: Value,
    /// What the rehearsal plays from.
    pub given: Value,
    pub attempt: u32,
    /// What the form cannot say. What breaks it is refused, and recorded as that.
    pub rule: &'a (dyn Fn(&Value) -> Result<(), String> + Sync),
    /// What is recorded beside.
    pub results: Value,
    pub metadata: Value,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct TurnResult {
    /// The turn's id.
    pub turn: String,
    pub agent: Name,
    pub state: TurnState,
    /// Why there is no answer.
    pub why: String,
    /// The answer, of the form that was asked for; nothing where the state is another than
    /// answered.
    pub value: Value,
    pub confidence: Option<Share>,
    /// What it said, in words.
    pub content: String,
    /// Whose model spoke.
    pub provider: String,
    pub model: String,
}

impl TurnResult {
    /// The answer, if it is one.
    pub fn answered(&self) -> Option<&Value> {
        (self.state == TurnState::Answered).then_some(&self.value)
    }
}

impl Room {
    /// One turn, with all its calls as steps, recorded as what it was.
    pub async fn speak(&self, ctx: &Ctx, asking: TurnRequest<'_>) -> Result<TurnResult, Failure> {
        let own = self.voices.get(&asking.agent.id).or(self.usual.as_ref());
        let own = own.ok_or_else(|| Failure::new("invalid_journal", "no voice was chosen"))?;
        // Only whom the configuration names for this agent, its provider's fall-backs included:
        // what is told to one is not meant for another.
        let held = self.turn(ctx, &asking, own, &asking.key).await?;
        let spoken = self.read(ctx, &asking, &held);
        self.record(ctx, asking, held, &spoken).await?;
        Ok(spoken)
    }

    async fn turn(
        &self,
        ctx: &Ctx,
        asking: &TurnRequest<'_>,
        named: &NamedVoice,
        key: &str,
    ) -> Result<FinishedTurn, Failure> {
        let max_tokens = self.debating.max_tokens.unwrap_or(named.voice.max_tokens);
        let request = ModelRequest { max_tokens, ..self.request(asking)? };
        let call = ModelCall {
            key: key.to_owned(),
            agent: asking.agent.id.clone(),
            model: Arc::clone(&named.voice.model),
            price: named.voice.price,
            request: request.clone(),
        };
        let mut steps = InSteps { ctx, room: self, call, agent: asking.agent, asked: 0, called: 0 };
        let none = Vec::new();
        let offers = match asking.part {
            TurnPart::Draft
            | TurnPart::Refine
            | TurnPart::Proposal
            | TurnPart::Optimization
            | TurnPart::Attack
            | TurnPart::Critique => self.offers.get(&asking.agent.id).unwrap_or(&none),
            _ => &none,
        };
        let limits = TurnLimits { calls_max: usize::try_from(self.debating.tool_calls_max).unwrap_or(usize::MAX) };
        let turn = match offers.is_empty() || limits.calls_max == 0 {
            true => plain(&mut steps, &self.prompts, request).await?,
            false => turn_by(&mut steps, &self.prompts, request, offers, limits).await?,
        };
        Ok(FinishedTurn { turn, provider: named.provider.clone() })
    }

    fn request(&self, asking: &TurnRequest<'_>) -> Result<ModelRequest, Failure> {
        let texts = asking.notes.len() + asking.answers.len();
        // What all say together must not be longer than anybody reads, or than a journal holds.
        let all: usize =
            asking.notes.iter().map(|(_, text)| text.len()).chain(asking.answers.iter().map(String::len)).sum();
        let share = if all > PROMPT_BYTES_MAX { PROMPT_BYTES_MAX / texts } else { all };
        let cut = |text: &str| match text.len() > share {
            true => format!("{}\n… (cut)", &text[..text.floor_char_boundary(share)]),
            false => text.to_owned(),
        };
        let note =
            |(kind, text): &(NoteKind, String)| PromptContext::new().word("kind", kind.word()).data("text", cut(text));
        let context = PromptContext::new()
            .word("part", asking.part.word())
            .data("topic", &self.debating.topic)
            .list("notes", asking.notes.iter().map(note).collect())
            .list("answers", asking.answers.iter().map(|text| PromptContext::new().data("text", cut(text))).collect());
        let text = self.prompts.render("debate/turn.md", &context)?;
        let cue = Cue {
            part: asking.part.word().to_owned(),
            agent: asking.agent.id.to_string(),
            topic: self.debating.topic.clone(),
            attempt: asking.attempt,
            given: asking.given.clone(),
        };
        Ok(ModelRequest {
            system: Some(self.prompts.system(asking.agent.role, asking.agent.domain)?),
            messages: vec![Message { speaker: Speaker::User, text }],
            schema: Some(Schema { name: asking.part.word().to_owned(), schema: asking.schema.clone() }),
            cue: Some(cue),
            ..ModelRequest::new("")
        })
    }

    fn read(&self, ctx: &Ctx, asking: &TurnRequest<'_>, held: &FinishedTurn) -> TurnResult {
        let last = |turn: &ToolTurn| turn.answers.last().map_or_else(String::new, |answer| answer.text.clone());
        let (state, why, value, content) = match &held.turn {
            Err(failure) => (TurnState::Failed, failure.to_string(), Value::Null, String::new()),
            Ok(turn) => match &turn.outcome {
                TurnOutcome::Answered(value) => match (keepable(value), self.allowed(asking, value)) {
                    (Err(why), _) => (TurnState::Unparsed, why, Value::Null, last(turn)),
                    (Ok(()), Ok(())) => (TurnState::Answered, String::new(), value.clone(), words(asking.part, value)),
                    (Ok(()), Err(why)) => (TurnState::Refused, why, Value::Null, words(asking.part, value)),
                },
                TurnOutcome::Unparsed { why } => (TurnState::Unparsed, why.clone(), Value::Null, last(turn)),
                TurnOutcome::OutOfCalls => {
                    (TurnState::Unparsed, "it wanted to call tools for ever".to_owned(), Value::Null, last(turn))
                }
                TurnOutcome::Failed(failure) => (TurnState::Failed, failure.to_string(), Value::Null, String::new()),
            },
        };
        let last_of = held.turn.as_ref().ok().and_then(|turn| turn.answers.last());
        let content = match state {
            TurnState::Answered => content,
            _ => folkmoot_core::text::shortened(&content, UNPARSED_BYTES),
        };
        TurnResult {
            turn: record::uuid(&[ctx.run_id().as_str(), &ctx.key_in_run(&asking.key)]),
            agent: asking.agent.id.clone(),
            state,
            // A model's own words can be in it.
            why: folkmoot_core::text::shortened(&why, WHY_BYTES),
            confidence: share(&value["confidence"]),
            value,
            content,
            provider: last_of.map_or_else(|| held.provider.clone(), |answer| answer.provider.clone()),
            model: last_of.map_or_else(|| NO_MODEL.to_owned(), |answer| answer.model.clone()),
        }
    }

    /// What the form cannot say of an answer.
    fn allowed(&self, asking: &TurnRequest<'_>, value: &Value) -> Result<(), String> {
        (asking.rule)(value)?;
        let mut texts = Vec::new();
        strings(value, &mut texts);
        let steers = |text: &&str| Steering::of(text, &asking.agent.id, &self.debating.topic);
        // Whoever judges others may say what ranks first.
        let counts = |sort: &Steering| asking.part.is_an_answer() || *sort != Steering::Votes;
        match texts.iter().filter_map(steers).find(counts) {
            Some(sort) => Err(sort.why().to_owned()),
            None => Ok(()),
        }
    }

    async fn record(
        &self,
        ctx: &Ctx,
        asking: TurnRequest<'_>,
        held: FinishedTurn,
        spoken: &TurnResult,
    ) -> Result<(), Failure> {
        let none = ToolTurn { answers: Vec::new(), tool_calls: Vec::new(), outcome: TurnOutcome::OutOfCalls };
        let turn = held.turn.as_ref().unwrap_or(&none);
        let last = turn.answers.last();
        let sum = |of: fn(&ModelAnswer) -> u64| turn.answers.iter().map(of).sum::<u64>();
        let (tokens, usd_micros) =
            (sum(|answer| answer.usage.total()), sum(|answer| answer.cost_usd_micros.unwrap_or(0)));
        let response_time_ms = sum(|answer| answer.latency_ms);
        let (provider, model) = (spoken.provider.clone(), spoken.model.clone());
        let told = DebateEvent::Turn {
            turn: spoken.turn.clone(),
            phase: asking.at.phase,
            round: asking.at.round,
            agent: spoken.agent.clone(),
            role: asking.agent.role,
            part: asking.part.word().to_owned(),
            state: spoken.state,
            why: spoken.why.clone(),
            provider: provider.clone(),
            model: model.clone(),
            tool_calls: u32::try_from(turn.tool_calls.len()).unwrap_or(u32::MAX),
            response_time_ms,
            tokens,
            usd_micros,
        };
        let mut metadata = json!({
            "part": asking.part, "state": spoken.state, "why": spoken.why, "calls": turn.answers.len(),
            "tokens": tokens, "usd_micros": usd_micros, "version": last.and_then(|answer| answer.version.clone()),
            "step": ctx.key_in_run(&asking.key),
        });
        if let (Some(all), Value::Object(more)) = (metadata.as_object_mut(), asking.metadata) {
            all.extend(more);
        }
        let reflections = match asking.part {
            TurnPart::Reflect => spoken.value.clone(),
            _ => Value::Null,
        };
        let row = record::TurnRecord {
            id: spoken.turn.clone(),
            round: asking.at.round,
            phase: asking.at.phase,
            agent_id: spoken.agent.clone(),
            agent_role: asking.agent.role,
            provider,
            model,
            content: spoken.content.clone(),
            confidence: spoken.confidence,
            tool_calls: tool_calls(&turn.tool_calls)?,
            test_results: asking.results,
            reflections,
            metadata,
            response_time_ms,
        };
        let records = vec![record::DebateRecord::Turn(Box::new(row)), super::line(&told)];
        ctx.keep(format!("{}/turn", asking.key), told.kind(), &told, records).await
    }
}

/// Every text in it.
fn strings<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, into)),
        Value::Object(members) => members.values().for_each(|item| strings(item, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A turn that has ended, before its answer is read.
struct FinishedTurn {
    turn: Result<ToolTurn, folkmoot_llm::ModelFailure>,
    provider: String,
}

/// A turn whose every call is a step.
struct InSteps<'a> {
    ctx: &'a Ctx,
    room: &'a Room,
    call: ModelCall,
    agent: &'a Agent,
    asked: u32,
    called: u32,
}

impl Steps for InSteps<'_> {
    type Error = Failure;

    fn ask<'a>(
        &'a mut self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<Result<ModelAnswer, folkmoot_llm::ModelFailure>, Failure>> {
        self.asked += 1;
        let key = format!("{}/{}", self.call.key, self.asked);
        let call = ModelCall { key, request: request.clone(), ..self.call.clone() };
        Box::pin(async move {
            Ok(match self.room.spending.call(self.ctx, call).await?.outcome {
                Called::Answered(answer) => Ok(answer),
                Called::Failed(failure) => Err(failure),
            })
        })
    }

    fn call<'a>(&'a mut self, tool: &'a str, arguments: Value) -> BoxFuture<'a, Result<ToolCall, Failure>> {
        self.called += 1;
        let key = format!("{}/tool/{}", self.call.key, self.called);
        let input = json!({ "tool": tool, "arguments": arguments });
        let (effects, kinds) = (Arc::clone(&self.room.effects), self.agent.tools().to_vec());
        let (debate, branch) = (self.ctx.run_id().to_string(), self.room.branch.clone());
        let place = ToolContext { debate, role: self.ctx.role(), branch };
        let mut offers = self.room.offers.get(&self.agent.id).into_iter().flatten();
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
            match self.room.ask_about_call(self.ctx, &key, self.agent, &tool, &given).await? {
                // Nobody knows whether it may be done twice.
                Ok(()) => step(work).once().await,
                Err(why) => Ok(ToolCall { tool, arguments: given, result: Err(ToolError::failed(why)), elapsed_ms: 0 }),
            }
        })
    }
}

impl Room {
    /// Asks people before a tool is called that may change something outside. Why not, where they
    /// do not want it.
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
            .title(folkmoot_core::text::shortened(&format!("{} wants to call {tool}", agent.id), TITLE_BYTES_MAX))
            .kind(GateKind::Tool)
            .risk(Risk::High)
            .allow([Choice::Approve, Choice::Reject])
            .artifact("arguments.json", "application/json", serde_json::to_vec_pretty(arguments)?);
        if let Some(reviewers) = &self.debating.gates.reviewers {
            gate = gate.reviewers(reviewers.iter().cloned());
        }
        for channel in &self.debating.gates.notification_channels {
            gate = gate.notify(channel);
        }
        let decided = ctx.gate(format!("{key}/gate"), gate).await?;
        let refused = || format!("a person did not allow this call: {}", decided.decision.reason);
        Ok(if decided.may_proceed() { Ok(()) } else { Err(refused()) })
    }
}

/// A turn without tools: one call, and another where the first cannot be read.
async fn plain(
    steps: &mut InSteps<'_>,
    prompts: &Prompts,
    request: ModelRequest,
) -> Result<Result<ToolTurn, folkmoot_llm::ModelFailure>, Failure> {
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

/// Whether an answer can be kept and shown. Whoever says more than anybody reads has said nothing
/// that counts.
fn keepable(value: &Value) -> Result<(), String> {
    if folkmoot_core::text::holds_nul(value) {
        return Err("it holds the character U+0000, which cannot be stored".to_owned());
    }
    match value.to_string().len() {
        0..=ANSWER_BYTES_MAX => Ok(()),
        bytes => Err(format!("it is {bytes} bytes long; at most {ANSWER_BYTES_MAX} are read")),
    }
}

/// What is kept of the calls of tools: all of it where it can be kept, else which they were.
fn tool_calls(calls: &[ToolCall]) -> Result<Value, Failure> {
    let all = serde_json::to_value(calls)?;
    if all.to_string().len() <= TOOL_CALLS_BYTES_MAX
        && !folkmoot_core::text::holds_nul(&all)
        && folkmoot_core::text::json("tool_calls", &all).is_ok()
    {
        return Ok(all);
    }
    let shown = |call: &ToolCall| json!({ "tool": folkmoot_core::text::shortened(&call.tool, 200), "shortened": true });
    Ok(calls.iter().map(shown).collect())
}

/// From 0 to 1, as models write it.
pub(super) fn share(value: &Value) -> Option<Share> {
    let given = value.as_f64().filter(|given| (0.0..=1.0).contains(given))?;
    // It is at most 100 by now.
    Share::hundredths((given * 100.0).round() as u8).ok()
}
