use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Cue, Schema, structured};

fn request(part: &str, agent: &str, topic: &str, attempt: u32, given: Value) -> ModelRequest {
    let cue = Cue { part: part.to_owned(), agent: agent.to_owned(), topic: topic.to_owned(), attempt, given };
    ModelRequest { cue: Some(cue), ..ModelRequest::new(topic) }
}

#[test]
fn every_file_is_an_exercise_and_every_exercise_is_whole() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rehearsal");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let names: BTreeSet<String> = exercises().iter().map(|exercise| exercise.name.clone()).collect();
    assert_eq!(files, names);
    for exercise in exercises() {
        let (right, wrong) = exercise.solutions.split_last().unwrap();
        assert!(right.flaw.is_empty() && !wrong.is_empty());
        assert_eq!(Exercise::about(&exercise.task).map(|about| &about.name), Some(&exercise.name));
        for solution in wrong {
            assert!(exercise.tests.iter().any(|test| test.name == solution.shown_by), "{}", solution.shown_by);
        }
    }
}

#[tokio::test]
async fn it_says_that_it_is_a_rehearsal_piece_by_piece() {
    let mut pieces = Vec::new();
    let request = ModelRequest::new("Merge overlapping intervals, please");
    let answer = Rehearsal.ask(&request, &mut |piece: &str| pieces.push(piece.to_owned())).await.unwrap();
    assert!(answer.text.starts_with(NOTICE) && answer.text.contains("def merge(intervals):"), "{}", answer.text);
    assert!(pieces.len() > 10);
    assert_eq!(pieces.concat(), answer.text);
    assert!(answer.usage.estimated);
}

#[tokio::test]
async fn the_same_question_has_the_same_answer_and_agents_differ() {
    let say = async |agent: &str| {
        Rehearsal.ask(&request("proposal", agent, "Should we rewrite it?", 0, Value::Null), &mut ()).await.unwrap().text
    };
    assert_eq!(say("critic-1").await, say("critic-1").await);
    let mut positions = BTreeSet::new();
    for number in 0..12 {
        positions.insert(say(&format!("agent-{number}")).await.split(" is ").nth(1).map(|rest| rest[..9].to_owned()));
    }
    assert_eq!(positions.len(), 3, "{positions:?}");
}

fn code_schema() -> Option<Schema> {
    let schema = json!({
        "type": "object", "required": ["code", "language", "confidence"], "additionalProperties": false,
        "properties": { "code": { "type": "string" }, "language": { "const": "python" },
                        "confidence": { "type": "number", "minimum": 0, "maximum": 1 } }
    });
    Some(Schema { name: "solution".to_owned(), schema })
}

#[tokio::test]
async fn attempts_lead_to_the_right_solution() {
    let exercise = &exercises()[0];
    let mut given = Value::Null;
    for attempt in 0..3 {
        let request =
            ModelRequest { schema: code_schema(), ..request("code", "generator-1", &exercise.task, attempt, given) };
        let structured = structured::ask(&Rehearsal, &crate::Prompts::embedded(), &request, &mut ()).await.unwrap();
        let structured::ParseOutcome::Parsed(value) = structured.outcome else { panic!("{structured:?}") };
        let which = exercise.which(value["code"].as_str().unwrap()).unwrap();
        match attempt {
            0 => assert!(which < exercise.solutions.len() - 1),
            2 => assert_eq!(which, exercise.solutions.len() - 1),
            _ => {}
        }
        given = json!({ "code": value["code"] });
    }
}

#[tokio::test]
async fn findings_are_about_the_code_that_is_shown() {
    let exercise = exercises().iter().find(|exercise| exercise.name == "safe_join").unwrap();
    let schema =
        json!({ "type": "object", "required": ["findings"], "properties": { "findings": { "type": "array" } } });
    for (number, solution) in exercise.solutions.iter().enumerate() {
        let request = ModelRequest {
            schema: Some(Schema { name: "attack".to_owned(), schema: schema.clone() }),
            ..request("attack", "red_team-1", &exercise.task, 0, json!({ "code": solution.code }))
        };
        let text = Rehearsal.ask(&request, &mut ()).await.unwrap().text;
        let found: Value = serde_json::from_str(&text).unwrap();
        let right = number == exercise.solutions.len() - 1;
        assert_eq!(found["findings"].as_array().unwrap().is_empty(), right, "{text}");
        if !right {
            assert_eq!(found["findings"][0]["test"]["name"], solution.shown_by);
        }
    }
}

#[tokio::test]
async fn a_ballot_follows_the_tests_and_never_names_its_own() {
    let given = json!({ "candidates": [
        { "id": "A", "author": "critic-1", "passed": 9 }, { "id": "B", "passed": 2 }, { "id": "C", "passed": 7 }
    ]});
    let schema = json!({ "type": "object", "required": ["ranking", "vote"], "properties": {
        "ranking": { "type": "array", "items": { "enum": ["A", "B", "C"] } }, "vote": { "enum": ["A", "B", "C"] } } });
    let request = ModelRequest {
        schema: Some(Schema { name: "ballot".to_owned(), schema }),
        ..request("ballot", "critic-1", "anything", 0, given)
    };
    let text = Rehearsal.ask(&request, &mut ()).await.unwrap().text;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "ranking": ["C", "B"], "vote": "C" }));
}

#[tokio::test]
async fn in_a_turn_with_tools_it_has_its_code_tested_once_and_says_what_came_of_it() {
    let turn = |tools: &[&str]| {
        let schema = json!({ "type": "object", "properties": {
            "tool": { "type": "string", "enum": tools }, "arguments": { "type": "object" }, "answer": { "type": "string" } } });
        ModelRequest {
            schema: Some(Schema { name: TOOL_TURN.to_owned(), schema }),
            ..request("proposal", "generator-1", &exercises()[0].task, 0, Value::Null)
        }
    };
    let say = async |request: &ModelRequest| {
        let text = Rehearsal.ask(request, &mut ()).await.unwrap().text;
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let mut request = turn(&["execute", "run_tests", "search"]);
    let call = say(&request).await;
    assert_eq!((&call["tool"], &call["arguments"]["language"]), (&json!("run_tests"), &json!("python")));
    assert_eq!(call["arguments"]["tests"].as_array().unwrap().len(), exercises()[0].tests.len());
    assert!(exercises()[0].which(call["arguments"]["solution"].as_str().unwrap()).is_some());

    let result = json!({ "verdict": "some_failed", "passed": 2, "of": 5, "tests": [] });
    request.messages.push(crate::Message { speaker: crate::Speaker::Assistant, text: call.to_string() });
    request.messages.push(crate::Message {
        speaker: crate::Speaker::User,
        text: format!("This was your call:\n\n{call}\n\nThis came of it:\n\n{result}\n"),
    });
    assert!(say(&request).await["answer"].as_str().unwrap().contains("run_tests: 2 of 5 tests passed."));
    request.messages.last_mut().unwrap().text = "it failed (missing): no jail".to_owned();
    assert!(say(&request).await["answer"].as_str().unwrap().contains("It was not tested"));

    assert_eq!(say(&turn(&["execute"])).await["tool"], "execute");
    assert!(say(&turn(&["search"])).await["answer"].is_string(), "it has no reason to search");
    let mut critique = turn(&["run_tests"]);
    critique.cue.as_mut().unwrap().part = "critique".to_owned();
    assert!(say(&critique).await["answer"].is_string());
}

#[tokio::test]
async fn it_is_held_to_the_longest_answer() {
    let request = ModelRequest { max_tokens: 3, ..ModelRequest::new("Hello?") };
    let answer = Rehearsal.ask(&request, &mut ()).await.unwrap();
    assert!(
        Rehearsal.ask(&ModelRequest::new("Hello?"), &mut ()).await.unwrap().text.contains("lru_cache, merge_intervals")
    );
    assert_eq!((answer.finish, answer.text.len()), (Finish::Length, 12));
}

fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({ "type": "string", "minLength": 3, "maxLength": 5 })),
        Just(json!({ "type": "integer", "minimum": 2, "maximum": 9 })),
        Just(json!({ "type": "number", "maximum": -2.5 })),
        Just(json!({ "type": "boolean" })),
        Just(json!({ "enum": ["x", "y"] })),
        Just(json!({ "type": ["null", "string"] })),
        Just(json!({ "const": 7 })),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "minItems": 2 })),
            inner.clone().prop_map(|first| json!({ "anyOf": [first, { "type": "null" }] })),
            (inner.clone(), inner).prop_map(|(code, other)| json!({
                "type": "object", "properties": { "code": code, "other": other }, "required": ["code", "other"],
                "additionalProperties": false
            })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_asked_for_is_given(schema in schemas()) {
        let material = material::for_request(&ModelRequest::new("Merge overlapping intervals"));
        let value = fill::fill(&schema, &material);
        prop_assert_eq!(structured::SchemaValidator::new(&schema).unwrap().check(&value), Ok(()));
    }
}

#[test]
fn a_schema_that_contains_itself_often_is_filled_so_far() {
    let names: Vec<String> = (0..50).map(|number| format!("p{number}")).collect();
    let parts: Map<String, Value> = names.iter().map(|name| (name.clone(), json!({ "$ref": "#" }))).collect();
    let schema = json!({ "type": "object", "properties": parts, "required": names });
    let value = fill::fill(&schema, &Map::new()).to_string();
    assert!(value.len() < 1_000_000, "{}", value.len());
}
