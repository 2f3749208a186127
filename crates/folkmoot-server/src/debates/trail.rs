//! A debate's trail: every prompt in full, every answer, tool call, vote, reflection and decision,
//! in the order of the log.
//!
//! ```text
//! the log ─┬─ debate.*, gate.decided, run.ended … ──▶ of_event ──▶ an entry
//!          └─ step.recorded ─▶ the step's result ─▶ of_step ─▶ a prompt and its answer
//! ```

use std::collections::BTreeMap;

use folkmoot_api::wire::{DebateTrail, DebateVerdict, Decimal, TrailEntry, TrailQuery, TrailSummary};
use folkmoot_core::{
    Event, Principal, Refusal, RunId,
    gate::GateEvent,
    journal::{Entry, EntryKey, EntryState},
    run::{RunEvent, RunOutcome},
};
use folkmoot_debate::{DebateEvent, Provenance, TurnState};
use folkmoot_engine::{Engine, Error};
use folkmoot_store::JournalQuery;
use folkmoot_workflows::{
    debate::records,
    llm::{ModelCallRecord, budget::Spent, record},
    tools::tool::ToolCall,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::cost;

#[cfg(test)]
mod tests;

/// How many events are read at once.
const EVENTS: u32 = 200;
/// How many results are read at once: each can be long.
const RESULTS: u32 = 20;
/// All entries of a page together, unless a single one is longer.
const PAGE_BYTES_MAX: usize = 4 << 20;

/// A page of the trail of a debate that `principal` may know of.
pub(crate) async fn page(
    engine: &Engine,
    principal: &Principal,
    id: &RunId,
    query: &TrailQuery,
    limit: usize,
) -> Result<DebateTrail, Error> {
    let bad = |_| Refusal::invalid("cursor", "is invalid; use the `next` of the previous page unchanged");
    let cursor = query.cursor.as_deref().map(|cursor| cursor.parse::<u64>().map_err(bad)).transpose()?;
    let mut page = DebateTrail::default();
    if cursor.is_none() {
        page.summary = Some(summary(engine, principal, id).await?);
    }
    let wanted = |entry: &TrailEntry| {
        query.kind.is_none_or(|kind| kind == entry.kind)
            && query.agent.as_ref().is_none_or(|agent| entry.agent.as_ref() == Some(agent))
    };
    let (mut after, mut bytes) = (cursor.unwrap_or(0), 0);
    loop {
        let events = engine.events_of_run(principal, id, after, EVENTS).await?;
        for event in &events {
            let mut entries = of_event(event);
            for entry in &mut entries {
                in_full(engine, principal, id, entry).await?;
            }
            if let Some(key) = step(event) {
                let query = JournalQuery { run: id.clone(), after: None, limit: 1, key: Some(key), results: true };
                let line = engine.journal(principal, query).await?.pop();
                entries.extend(line.map(|line| of_step(event.position, &line.entry, line.result)).unwrap_or_default());
            }
            entries.retain(wanted);
            let longer: usize = entries.iter().map(|entry| entry.data.to_string().len()).sum();
            let full = page.entries.len() + entries.len() > limit || bytes + longer > PAGE_BYTES_MAX;
            if full && !page.entries.is_empty() && !entries.is_empty() {
                page.next = Some(after.to_string());
                return Ok(page);
            }
            bytes += longer;
            page.entries.extend(entries);
            after = event.position;
        }
        if events.len() < EVENTS as usize {
            return Ok(page);
        }
    }
}

/// What agents wrote is kept beside the log, so that it can be erased; where it was, the entry goes
/// without.
async fn in_full(engine: &Engine, principal: &Principal, id: &RunId, entry: &mut TrailEntry) -> Result<(), Error> {
    match entry.kind {
        Provenance::ReflectionGenerated => {
            let turn = entry.data["turn"].as_str().unwrap_or_default();
            let found = records::turn(engine, principal, id, turn).await?.and_then(|turn| turn.reflections);
            if let (Some(data), Some(Value::Object(said))) = (entry.data.as_object_mut(), found) {
                data.extend(said);
            }
        }
        Provenance::DebateCompleted if !entry.data["verdict"].is_null() => {
            if let Some(outcome) = records::debate(engine, principal, id).await?.session.and_then(|said| said.outcome) {
                entry.data["verdict"] = super::outcome(outcome);
            }
        }
        _ => {}
    }
    Ok(())
}

/// What all of it comes to.
async fn summary(engine: &Engine, principal: &Principal, id: &RunId) -> Result<TrailSummary, Error> {
    let mut tally = TrailCounts::default();
    let mut after = 0;
    loop {
        let events = engine.events_of_run(principal, id, after, EVENTS).await?;
        events.iter().flat_map(of_event).for_each(|entry| tally.count(&entry));
        match events.last() {
            Some(last) if events.len() == EVENTS as usize => after = last.position,
            _ => break,
        }
    }
    let mut after = None;
    loop {
        let query = JournalQuery { run: id.clone(), after, limit: RESULTS, key: None, results: true };
        let lines = engine.journal(principal, query).await?;
        let Some(last) = lines.last() else { return Ok(tally.summary()) };
        after = Some((last.entry.began_at, last.entry.key.clone()));
        for line in lines {
            of_step(0, &line.entry, line.result).iter().for_each(|entry| tally.count(entry));
        }
    }
}

#[derive(Default)]
struct TrailCounts {
    types: BTreeMap<String, u64>,
    agents: BTreeMap<String, u64>,
    models: BTreeMap<String, u64>,
    spent: Spent,
}

impl TrailCounts {
    fn count(&mut self, entry: &TrailEntry) {
        *self.types.entry(entry.kind.word().to_owned()).or_default() += 1;
        if let Some(agent) = &entry.agent {
            *self.agents.entry(agent.to_string()).or_default() += 1;
        }
        // What a person answers has no model.
        if entry.kind == Provenance::ResponseReceived
            && let Some(provider) = entry.data["provider"].as_str()
        {
            let model = format!("{provider}/{}", entry.data["model"].as_str().unwrap_or_default());
            *self.models.entry(model).or_default() += 1;
            let number = |value: &Value| value.as_u64().unwrap_or(0);
            let usage = &entry.data["usage"];
            self.spent.tokens += number(&usage["input_tokens"]) + number(&usage["output_tokens"]);
            self.spent.usd_micros += number(&entry.data["cost_usd_micros"]);
        }
    }

    fn summary(self) -> TrailSummary {
        TrailSummary { types: self.types, agents: self.agents, models: self.models, cost: cost(self.spent) }
    }
}

/// The step that this event says is done or failed.
fn step(event: &Event) -> Option<EntryKey> {
    match RunEvent::read(&event.fact) {
        Ok(RunEvent::Recorded { entry, .. }) if is_settled(&entry) => Some(entry.key),
        _ => None,
    }
}

fn is_settled(entry: &Entry) -> bool {
    matches!(entry.state, EntryState::Done { .. } | EntryState::Failed { .. })
}

/// What a step that called a model or a tool leaves in the trail.
fn of_step(position: u64, entry: &Entry, result: Option<String>) -> Vec<TrailEntry> {
    let left = |kind, at, data| TrailEntry {
        kind,
        at,
        position,
        agent: entry.agent_id.clone(),
        step: Some(entry.key.to_string()),
        data,
    };
    if let EntryState::Failed { error } = &entry.state {
        return vec![left(
            Provenance::ErrorOccurred,
            entry.at,
            json!({ "code": error.code, "message": error.message }),
        )];
    }
    let Some(result) = result else { return Vec::new() };
    if let Ok(ModelCallRecord { call, request, outcome }) = serde_json::from_str(&result) {
        let mut prompt = value(&request);
        prompt["call"] = json!(call);
        // The rehearsal plays from it, and no vendor is told; what it is for is good to know.
        prompt["cue"] = request.cue.map_or(Value::Null, |cue| json!({ "part": cue.part, "attempt": cue.attempt }));
        let came = match outcome {
            record::CallOutcome::Answered(mut answer) => {
                // The same prompt once more, as the vendor wants it.
                answer.sent.clear();
                let mut told = value(&answer);
                told["call"] = json!(call);
                left(Provenance::ResponseReceived, entry.at, told)
            }
            record::CallOutcome::Failed(failure) => {
                left(Provenance::ErrorOccurred, entry.at, json!({ "call": call, "failure": failure }))
            }
        };
        return vec![left(Provenance::PromptSent, entry.began_at, prompt), came];
    }
    match serde_json::from_str::<ToolCall>(&result) {
        Ok(call) => vec![left(Provenance::ToolCalled, entry.at, value(&call))],
        Err(_) => Vec::new(),
    }
}

/// What an event leaves in the trail.
fn of_event(event: &Event) -> Vec<TrailEntry> {
    let found = match DebateEvent::read(&event.fact.kind, &event.fact.payload) {
        Some(told) => of_told(told),
        None => of_gate(event).or_else(|| of_question(event)).or_else(|| of_run(event)),
    };
    let entry =
        |(kind, agent, data)| TrailEntry { kind, at: event.fact.at, position: event.position, agent, step: None, data };
    found.map(entry).into_iter().collect()
}

type TrailSource = (Provenance, Option<folkmoot_core::Name>, Value);

fn of_told(told: DebateEvent) -> Option<TrailSource> {
    let whole = payload(&told);
    Some(match told {
        DebateEvent::Started { .. } => (Provenance::DebateStarted, None, whole),
        DebateEvent::ConfigChanged { .. } => (Provenance::ConfigChanged, None, whole),
        DebateEvent::LessonsShown { lessons } => {
            let lessons: Vec<_> =
                lessons.iter().map(|(lesson, debate)| json!({ "lesson": lesson, "debate": debate })).collect();
            (Provenance::ConfigChanged, None, json!({ "field": "lessons", "value": lessons }))
        }
        DebateEvent::Rebalanced { agent, .. } => {
            let mut data = whole;
            data["field"] = json!("agents");
            (Provenance::ConfigChanged, Some(agent), data)
        }
        DebateEvent::RoundStarted { .. } => (Provenance::RoundStarted, None, whole),
        DebateEvent::RoundCompleted { consensus, .. } => {
            let mut data = whole;
            data["consensus"] = json!(consensus.map(|share| Decimal::from(share).0));
            (Provenance::RoundCompleted, None, data)
        }
        DebateEvent::PhaseStarted { .. } => (Provenance::PhaseStarted, None, whole),
        DebateEvent::PhaseCompleted { overall, .. } => {
            let mut data = whole;
            data["overall"] = json!(overall.map(|share| Decimal::from(share).0));
            (Provenance::PhaseCompleted, None, data)
        }
        // Its prompts and its answers are there themselves; what does not count is an error.
        DebateEvent::Turn { state: TurnState::Answered, .. } | DebateEvent::Version { .. } => return None,
        DebateEvent::Turn { agent, .. } => (Provenance::ErrorOccurred, Some(agent), whole),
        DebateEvent::Tested { author, .. } => {
            let mut data = whole;
            data["tool"] = json!("tests");
            (Provenance::ToolCalled, Some(author), data)
        }
        DebateEvent::Hook { hook, .. } => {
            let mut data = whole;
            data["tool"] = json!(hook);
            (Provenance::ToolCalled, None, data)
        }
        DebateEvent::Reflected { agent, .. } => (Provenance::ReflectionGenerated, Some(agent), whole),
        DebateEvent::Vote { voter, confidence, .. } => {
            let mut data = whole;
            data["confidence"] = json!(Decimal::from(confidence).0);
            (Provenance::VoteCast, Some(voter), data)
        }
        DebateEvent::Error { .. } => (Provenance::ErrorOccurred, None, whole),
        DebateEvent::Completed { verdict } => (
            Provenance::DebateCompleted,
            None,
            json!({ "status": "completed", "verdict": DebateVerdict::from(*verdict) }),
        ),
    })
}

fn of_gate(event: &Event) -> Option<TrailSource> {
    let GateEvent::Decided { requested_by, decision } = GateEvent::read(&event.fact).ok()? else { return None };
    let data = json!({
        "gate": event.fact.stream, "requested_by": requested_by, "decision": decision.decision, "reviewer": decision.reviewer,
        "reason": decision.reason, "feedback": decision.feedback, "digest": decision.digest,
    });
    Some((Provenance::GateDecision, None, data))
}

/// What a person is asked before a debate, and answers.
fn of_question(event: &Event) -> Option<TrailSource> {
    let kind = match event.fact.kind.as_ref() {
        "question.asked" => Provenance::PromptSent,
        "question.answered" | "question.denied" | "question.skipped" | "question.cancelled" | "question.expired" => {
            Provenance::ResponseReceived
        }
        _ => return None,
    };
    let mut data: Value = serde_json::from_str(&event.fact.payload).ok()?;
    let agent = data["agent_id"].as_str().and_then(|agent| agent.parse().ok());
    data["question"] = json!(event.fact.stream);
    Some((kind, agent, data))
}

fn of_run(event: &Event) -> Option<TrailSource> {
    match RunEvent::read(&event.fact).ok()? {
        // What came of a debate that reached its end it says itself.
        RunEvent::Ended { ending, .. } if ending.outcome == RunOutcome::Completed => None,
        RunEvent::Ended { ending, .. } => {
            let data = json!({
                "status": ending.outcome, "by": ending.by, "code": ending.code, "reason": ending.reason,
            });
            Some((Provenance::DebateCompleted, None, data))
        }
        RunEvent::Stopped { code, message, .. } => {
            Some((Provenance::ErrorOccurred, None, json!({ "code": code, "message": message })))
        }
        _ => None,
    }
}

/// What was told, without the word that says what it is.
fn payload(told: &DebateEvent) -> Value {
    let mut payload = value(told);
    if let Some(fields) = payload.as_object_mut() {
        fields.remove("event");
    }
    payload
}

fn value(told: &impl Serialize) -> Value {
    serde_json::to_value(told).unwrap_or_default()
}
