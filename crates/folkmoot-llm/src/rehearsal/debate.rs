//! The rehearsal's contributions to debates besides answers: questions, plans, points, scores,
//! votes.

use folkmoot_debate::TurnPart;
use serde_json::{Map, Value, json};

use super::{Exercise, exercise::RehearsedSolution, material::object};
use crate::Cue;

/// Contributions that only debates ask for.
pub(super) fn material(cue: &Cue, exercise: Option<&Exercise>) -> Map<String, Value> {
    let Ok(part) = cue.part.parse::<TurnPart>() else { return Map::new() };
    match part {
        TurnPart::Clarify => clarify(cue),
        TurnPart::ClarifyAnswer => {
            let answer = |_: &Value| json!({ "answer": "Assumed: what most people who ask for this would expect." });
            let answers: Vec<Value> = list(cue, "questions").iter().map(answer).collect();
            object(json!({ "answers": answers, "confidence": 0.95, "remaining_ambiguities": [] }))
        }
        TurnPart::Plan => object(json!({ "tasks": [
            { "id": "understand", "title": "Say what is asked, and what would show an answer wrong", "depends_on": [], "priority": 1 },
            { "id": "answer", "title": "Answer it", "depends_on": ["understand"], "priority": 2 },
            { "id": "check", "title": "Try to show the answer wrong", "depends_on": ["answer"], "priority": 3 },
        ] })),
        TurnPart::Critique => {
            let points = answers(cue, exercise).filter_map(|(number, judged)| match judged {
                RehearsedJudgement::Flawed(solution) => {
                    Some(json!({ "answer": number, "point": solution.flaw, "evidence": solution.shown_by }))
                }
                RehearsedJudgement::Right => None,
                RehearsedJudgement::Unknown => Some(
                    json!({ "answer": number, "point": "No fact is named that could be checked.", "evidence": "" }),
                ),
            });
            object(json!({ "points": points.collect::<Vec<_>>() }))
        }
        TurnPart::Review => {
            let scores = answers(cue, exercise).map(|(number, judged)| {
                let (score, reason) = match judged {
                    RehearsedJudgement::Flawed(solution) => (0.4, solution.flaw.as_str()),
                    RehearsedJudgement::Right => (0.95, "Every test that is known for this passes."),
                    RehearsedJudgement::Unknown => (0.6, "It answers what was asked; nothing in it could be checked."),
                };
                json!({ "answer": number, "score": score, "reason": reason })
            });
            object(json!({ "scores": scores.collect::<Vec<_>>() }))
        }
        TurnPart::Ballot | TurnPart::Endorse => {
            let passes = cue.given.get("passes").and_then(Value::as_bool).unwrap_or(true);
            object(json!({
                "endorse": passes, "evidence": "what was executed, and else the order of the alphabet",
                "objection": "A rehearsal understands nothing.",
            }))
        }
        TurnPart::Draft
        | TurnPart::Reflect
        | TurnPart::Refine
        | TurnPart::Proposal
        | TurnPart::Revise
        | TurnPart::Optimization
        | TurnPart::Attack
        | TurnPart::Defence => Map::new(),
    }
}

/// Evidence that a revision can cite, if the cue has any.
pub(super) fn evidence(cue: &Cue) -> Option<&str> {
    list(cue, "evidence").first().and_then(Value::as_str)
}

fn clarify(cue: &Cue) -> Map<String, Value> {
    if cue.attempt > 0 {
        return object(json!({ "questions": [], "confidence": 0.95 }));
    }
    object(json!({
        "questions": [
            { "question": "By what will it be judged whether the answer is good?", "category": "requirements", "priority": 1 },
            { "question": "What must it do with what it cannot use?", "category": "edge_cases", "priority": 2 },
        ],
        "confidence": 0.6,
    }))
}

enum RehearsedJudgement<'a> {
    Flawed(&'a RehearsedSolution),
    Right,
    /// Not a solution of an exercise.
    Unknown,
}

fn answers<'a>(cue: &'a Cue, exercise: Option<&'a Exercise>) -> impl Iterator<Item = (u64, RehearsedJudgement<'a>)> {
    list(cue, "answers").iter().filter_map(move |answer| {
        let number = answer.get("number")?.as_u64()?;
        let solution = exercise.and_then(|exercise| {
            let at = exercise.which(answer.get("code")?.as_str()?)?;
            exercise.solutions.get(at)
        });
        let judged = match solution {
            Some(solution) if solution.flaw.is_empty() => RehearsedJudgement::Right,
            Some(solution) => RehearsedJudgement::Flawed(solution),
            None => RehearsedJudgement::Unknown,
        };
        Some((number, judged))
    })
}

fn list<'a>(cue: &'a Cue, name: &str) -> &'a [Value] {
    cue.given.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
