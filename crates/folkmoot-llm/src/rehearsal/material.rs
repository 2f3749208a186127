//! The rehearsal's material, by field name.

use folkmoot_core::Digest;
use serde_json::{Map, Value, json};

use super::{Exercise, RehearsedSolution, Test, debate, exercises, plan};
use crate::{Cue, ModelRequest};

/// All material for this call. The schema uses the fields it has.
pub(super) fn for_request(request: &ModelRequest) -> Map<String, Value> {
    let asked = request.messages.last().map_or("", |message| message.text.as_str());
    let cue = request.cue.clone().unwrap_or_else(|| Cue { topic: asked.to_owned(), ..Cue::default() });
    let mut material = match Exercise::about(&cue.topic) {
        _ if cue.part.starts_with("plan_") => plan::material(&cue),
        Some(exercise) => of_exercise(exercise, &cue),
        None if request.cue.is_none() => of_nothing(),
        None => of_topic(&cue),
    };
    material.extend(debate::material(&cue, Exercise::about(&cue.topic)));
    material.insert("ranking".to_owned(), json!(ranking(&cue)));
    if let Some(first) = ranking(&cue).first() {
        material.insert("vote".to_owned(), json!(first));
    }
    material
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A number below `count`, always the same for the same words.
fn choice(count: usize, words: &[&str]) -> usize {
    let digest = Digest::of(words.join("\0").as_bytes());
    let first: [u8; 4] = digest.as_bytes()[..4].try_into().expect("a digest has 32 bytes");
    usize::try_from(u32::from_be_bytes(first)).unwrap_or_default() % count.max(1)
}

fn of_exercise(exercise: &Exercise, cue: &Cue) -> Map<String, Value> {
    let best = exercise.solutions.len() - 1;
    // Code that it is shown is improved by one step. Otherwise each agent begins with one of the
    // solutions, mostly a wrong one, and improves with each attempt.
    let shown = cue.given.get("code").and_then(Value::as_str).and_then(|code| exercise.which(code));
    let begin = choice(best, &[&cue.agent, &cue.topic]);
    let attempt = usize::try_from(cue.attempt).unwrap_or(usize::MAX);
    let reason = debate::evidence(cue);
    let at = match shown {
        // An answer is changed only for a reason.
        Some(shown) if cue.part == "revise" && reason.is_none() => shown,
        Some(shown) => shown.saturating_add(1),
        None => begin.saturating_add(attempt),
    };
    let written = &exercise.solutions[at.min(best)];
    let judged = &exercise.solutions[shown.unwrap_or(begin).min(best)];
    let tests: Vec<Value> = exercise.tests.iter().map(test).collect();
    let certain = (60 + 15 * at.min(best)).min(95);
    let summary = match written.flaw.as_str() {
        "" => format!("Solves `{}`: {}", exercise.name, exercise.task),
        _ => format!("A solution of `{}` that has not been tested yet.", exercise.name),
    };
    let mut material = object(json!({
        "summary": summary, "language": "python", "code": written.code.trim_start(), "tests": tests,
        "confidence": certain as f64 / 100.0, "questions": [], "remaining_ambiguities": [],
        "evidence": reason.filter(|_| shown != Some(at.min(best))).unwrap_or_default(),
    }));
    material.extend(judgement(exercise, judged));
    material
}

/// The judgement of another agent's code.
fn judgement(exercise: &Exercise, judged: &RehearsedSolution) -> Map<String, Value> {
    if judged.flaw.is_empty() {
        return object(json!({
            "critique": "Every test that is known for this passes; nothing is left to find.", "points": [], "findings": [],
            "root_cause": "nothing failed", "what_went_wrong": "nothing", "what_to_change": "nothing",
        }));
    }
    let shown = exercise.tests.iter().find(|test| test.name == judged.shown_by).map(test);
    object(json!({
        "critique": judged.flaw, "points": [judged.flaw],
        "findings": [{
            "title": judged.flaw, "description": judged.root_cause, "severity": judged.severity,
            "fix": judged.change, "test": shown,
        }],
        "root_cause": judged.root_cause, "what_went_wrong": judged.flaw, "what_to_change": judged.change,
    }))
}

fn test(test: &Test) -> Value {
    json!({
        "name": test.name, "category": test.category, "difficulty": test.difficulty, "language": "python",
        "code": test.code.trim_start(),
    })
}

/// The answer to a question that is not part of a debate or plan.
fn of_nothing() -> Map<String, Value> {
    let known: Vec<&str> = exercises().iter().map(|exercise| exercise.name.as_str()).collect();
    let summary = format!(
        "The rehearsal understands nothing, and plays only what it knows: {}. Ask for one of these, or ask a real model: \
         `folkmoot doctor` says which ones there are and how to get one.",
        known.join(", ")
    );
    object(json!({ "summary": summary, "answer": summary, "content": summary }))
}

/// The answer to a topic that is not an exercise. There are three positions, so that there is
/// something to vote on.
fn of_topic(cue: &Cue) -> Map<String, Value> {
    const POSITIONS: [&str; 3] = ["for it", "against it", "for trying it first in a small place"];
    let position = POSITIONS[choice(POSITIONS.len(), &[&cue.agent, &cue.topic])];
    let topic: String = cue.topic.chars().take(200).collect();
    let part = if cue.part.is_empty() { "answer" } else { &cue.part };
    let who = if cue.agent.is_empty() { "I" } else { &cue.agent };
    let verb = if cue.agent.is_empty() { "am" } else { "is" };
    let summary = format!("{who} {verb} {position}. This is the {part} on: {topic}");
    object(json!({
        "summary": summary, "content": summary, "answer": summary, "position": position,
        "confidence": 0.6 + choice(30, &[&cue.agent, &cue.topic, part]) as f64 / 100.0,
        "critique": "No fact is named that could be checked.", "points": ["No fact is named that could be checked."],
        "findings": [], "questions": [], "tests": [], "remaining_ambiguities": [], "evidence": "",
    }))
}

/// Candidates from the best to the worst: by passed tests if they are known, then in a fixed order.
/// The agent's own is left out.
fn ranking(cue: &Cue) -> Vec<String> {
    let Some(candidates) = cue.given.get("candidates").and_then(Value::as_array) else { return Vec::new() };
    let mut ranked: Vec<(i64, usize, &str)> = candidates
        .iter()
        .filter_map(|candidate| {
            let id = candidate.as_str().or_else(|| candidate.get("id")?.as_str())?;
            let passed = candidate.get("passed").and_then(Value::as_i64).unwrap_or_default();
            let own = candidate.get("author").and_then(Value::as_str) == Some(&cue.agent);
            (!own).then(|| (-passed, choice(1 << 16, &[&cue.agent, id]), id))
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, id)| id.to_owned()).collect()
}
