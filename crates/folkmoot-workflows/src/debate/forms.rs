//! The forms that answers have.

use serde_json::{Value, json};

const TEXT_MAX: usize = 32_000;
const LINE_MAX: usize = 2_000;
const LIST_MAX: usize = 20;

fn line() -> Value {
    json!({ "type": "string", "maxLength": LINE_MAX })
}

fn filled() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": LINE_MAX })
}

fn share() -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": 1 })
}

fn one_of(words: &[impl AsRef<str>]) -> Value {
    json!({ "type": "string", "enum": words.iter().map(AsRef::as_ref).collect::<Vec<&str>>() })
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

fn list(least: usize, most: usize, item: Value) -> Value {
    json!({ "type": "array", "minItems": least, "maxItems": most, "items": item })
}

fn tests() -> Value {
    list(0, LIST_MAX, test())
}

fn test() -> Value {
    json!({
        "type": "object", "required": ["name", "code"],
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 200 },
            "category": one_of(folkmoot_tools::testing::Category::WORDS),
            "difficulty": one_of(folkmoot_tools::testing::Difficulty::WORDS),
            "code": { "type": "string", "minLength": 1, "maxLength": TEXT_MAX },
        },
    })
}

/// An answer: with code and tests, or in words.
pub(super) fn answer(is_code: bool, names_evidence: bool) -> Value {
    let text = json!({ "type": "string", "minLength": 1, "maxLength": TEXT_MAX });
    let (mut required, mut properties) = match is_code {
        true => (
            vec!["summary", "code", "confidence"],
            json!({ "summary": text, "code": text, "tests": tests(), "confidence": share() }),
        ),
        false => (
            vec!["summary", "position", "confidence"],
            json!({ "summary": text, "position": filled(), "confidence": share() }),
        ),
    };
    if names_evidence {
        required.push("evidence");
        properties["evidence"] = line();
    }
    object(&required, properties)
}

pub(super) fn clarify() -> Value {
    let question = object(
        &["question", "category", "priority"],
        json!({
            "question": filled(),
            "category": one_of(&["requirements", "constraints", "edge_cases", "performance", "integration"]),
            "priority": { "type": "integer", "minimum": 1, "maximum": 5 },
        }),
    );
    object(&["questions", "confidence"], json!({ "questions": list(0, 5, question), "confidence": share() }))
}

pub(super) fn clarify_answer(questions: usize) -> Value {
    let answer = object(&["answer"], json!({ "answer": filled() }));
    object(
        &["answers", "confidence", "remaining_ambiguities"],
        json!({
            "answers": list(questions, questions, answer), "confidence": share(),
            "remaining_ambiguities": list(0, LIST_MAX, filled()),
        }),
    )
}

pub(super) fn plan() -> Value {
    let id = json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]{0,39}$" });
    let task = object(
        &["id", "title", "depends_on"],
        json!({
            "id": id, "title": filled(), "depends_on": list(0, LIST_MAX, id.clone()),
            "priority": { "type": "integer", "minimum": 0, "maximum": 9 },
        }),
    );
    object(&["tasks"], json!({ "tasks": list(1, LIST_MAX, task) }))
}

pub(super) fn reflection() -> Value {
    object(
        &["root_cause", "what_went_wrong", "what_to_change", "confidence"],
        json!({ "root_cause": filled(), "what_went_wrong": filled(), "what_to_change": filled(), "confidence": share() }),
    )
}

pub(super) fn critique(answers: usize) -> Value {
    let point = object(
        &["answer", "point", "evidence"],
        json!({ "answer": { "type": "integer", "minimum": 1, "maximum": answers }, "point": filled(), "evidence": line() }),
    );
    object(&["points", "confidence"], json!({ "points": list(0, LIST_MAX, point), "confidence": share() }))
}

pub(super) fn review(answers: usize) -> Value {
    let score = object(
        &["answer", "score", "reason"],
        json!({ "answer": { "type": "integer", "minimum": 1, "maximum": answers }, "score": share(), "reason": line() }),
    );
    object(&["scores", "confidence"], json!({ "scores": list(1, LIST_MAX, score), "confidence": share() }))
}

pub(super) fn attack() -> Value {
    let mut finding = object(
        &["title", "severity", "description"],
        json!({
            "title": filled(), "severity": one_of(&["critical", "high", "medium", "low"]), "description": filled(),
            "category": line(), "fix": line(),
        }),
    );
    finding["properties"]["test"] = json!({ "anyOf": [test(), { "type": "null" }] });
    object(&["findings"], json!({ "findings": list(0, LIST_MAX, finding), "confidence": share() }))
}

pub(super) fn ballot(answers: usize) -> Value {
    let numbers: Vec<String> = (1..=answers).map(|number| number.to_string()).collect();
    object(
        &["ranking", "confidence", "evidence", "objection"],
        json!({
            "ranking": list(1, answers, one_of(&numbers)), "confidence": share(),
            "evidence": line(), "objection": line(),
        }),
    )
}

pub(super) fn endorse() -> Value {
    object(
        &["endorse", "confidence", "evidence", "objection"],
        json!({ "endorse": { "type": "boolean" }, "confidence": share(), "evidence": line(), "objection": line() }),
    )
}
