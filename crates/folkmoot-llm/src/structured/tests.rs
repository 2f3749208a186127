use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    Schema,
    scripted::{
        CollectedText, ScriptedModel,
        ScriptedReply::{self, *},
    },
};

fn ballot() -> ModelRequest {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["vote"],
        "properties": { "vote": { "enum": ["a", "b"] }, "why": { "type": "string" } }
    });
    ModelRequest {
        schema: Some(Schema { name: "ballot".to_owned(), schema }),
        idempotency_key: Some("k".to_owned()),
        ..ModelRequest::new("Who?")
    }
}

async fn vote(lines: impl IntoIterator<Item = ScriptedReply>) -> StructuredAnswer {
    ask(&*ScriptedModel::new(lines), &Prompts::embedded(), &ballot(), &mut ()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_fits_is_taken() {
    for text in [
        r#"{"vote":"a"}"#,
        " {\"vote\": \"a\"}\n",
        "```json\n{\"vote\":\"a\"}\n```",
        "```\n{\"vote\":\"a\"}\n```",
        "<think>b? no</think>\n{\"vote\":\"a\"}",
    ] {
        let voted = vote([Says(text)]).await;
        assert_eq!((voted.outcome, voted.answers.len()), (ParseOutcome::Parsed(json!({"vote": "a"})), 1), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_repair_turn_says_what_was_wrong() {
    let model = ScriptedModel::new([Says(r#"{"vote":"c"}"#), Says(r#"{"vote":"b"}"#)]);
    let mut heard = CollectedText::default();
    let voted = ask(&*model, &Prompts::embedded(), &ballot(), &mut heard).await.unwrap();
    assert_eq!((voted.outcome, voted.answers.len()), (ParseOutcome::Parsed(json!({"vote": "b"})), 2));
    assert_eq!(heard, CollectedText(r#"{"vote":"b"}"#.to_owned(), 1));
    let repair = model.asked.lock().unwrap()[1].clone();
    assert_eq!(repair.messages.len(), 3);
    assert_eq!(repair.messages[1].text, r#"{"vote":"c"}"#);
    assert!(repair.messages[2].text.contains("/vote: value is not one of"), "{}", repair.messages[2].text);
    assert_eq!(repair.idempotency_key.as_deref(), Some("k-repair"));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_twice_is_unparsed_and_kept() {
    let nothing = [
        "I vote for a.",
        "Sure! {\"vote\":\"a\"}",
        "{\"vote\":\"a\"} {\"vote\":\"b\"}",
        "{\"vote\":\"a\",\"vote\":\"b\"}",
        "{\"vote\":\"a\",\"force\":true}",
        "{\"vote\":\"a\"",
        "{'vote':'a'}",
        "[\"a\"]",
        "null",
        "{\"vote\":\"A\"}",
    ];
    for text in nothing {
        let voted = vote([Says(text), Says(text)]).await;
        assert!(matches!(voted.outcome, ParseOutcome::Unparsed(_)), "{text}");
        assert_eq!(voted.answers.len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repair_turn_that_fails_leaves_it_unparsed() {
    let voted = vote([Says("a"), Fails(FailureKind::Unavailable)]).await;
    assert_eq!(voted.answers.len(), 1);
    assert!(matches!(voted.outcome, ParseOutcome::Unparsed(why) if why.contains("the repair turn failed")));
}

#[tokio::test(start_paused = true)]
async fn a_first_call_that_fails_is_a_failure() {
    let failure =
        ask(&*ScriptedModel::new([Fails(FailureKind::Unavailable)]), &Prompts::embedded(), &ballot(), &mut ())
            .await
            .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unavailable);
}

#[test]
fn a_schema_reaches_nothing_outside() {
    let outside = json!({ "$ref": "http://127.0.0.1:9/schema.json" });
    assert!(SchemaValidator::new(&outside).is_err());
    let file = json!({ "$ref": "file:///etc/hostname" });
    assert!(SchemaValidator::new(&file).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let shape = SchemaValidator::new(&json!({ "type": "object" })).unwrap();
        let _ = shape.read(&text);
    }

    #[test]
    fn strict_json_is_json(text in "[\\[\\]{},:\"a0-9.eE \\-]{0,40}") {
        if let Ok(value) = parse(&text) {
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        }
    }
}

#[test]
fn depth_has_an_end() {
    let deep = "[".repeat(100_000);
    assert!(parse(&deep).is_err());
}

fn doubled(levels: usize, either: &str) -> Value {
    let mut parts: serde_json::Map<String, Value> = (0..levels)
        .map(|level| {
            let next = json!({ "$ref": format!("#/$defs/p{}", level + 1) });
            (format!("p{level}"), json!({ either: [next, next] }))
        })
        .collect();
    parts.insert(format!("p{levels}"), json!({ "type": "string" }));
    json!({ "$ref": "#/$defs/p0", "$defs": parts })
}

#[test]
fn a_schema_that_nobody_finishes_checking_is_refused() {
    for either in ["allOf", "anyOf", "oneOf"] {
        assert!(SchemaValidator::new(&doubled(3, either)).is_ok());
        let why = SchemaValidator::new(&doubled(40, either)).unwrap_err();
        assert_eq!(why, "with its references followed, it has more than 100000 parts");
    }
    let chain = (0..5_000).map(|part| (format!("p{part}"), json!({ "$ref": format!("#/$defs/p{}", part + 1) })));
    let parts: serde_json::Map<String, Value> = chain.chain([("p5000".to_owned(), json!(true))]).collect();
    let why = SchemaValidator::new(&json!({ "$ref": "#/$defs/p0", "$defs": parts })).unwrap_err();
    assert_eq!(why, "with its references followed, it is more than 128 deep");
    let named = json!({ "allOf": [{ "$ref": "#a" }, { "$ref": "#a" }], "$defs": { "a": { "$anchor": "a", "type": "string" } } });
    assert!(SchemaValidator::new(&named).unwrap().check(&json!(1)).is_err());
    let why = SchemaValidator::new(&json!({ "$ref": "http://127.0.0.1:9/else" })).unwrap_err();
    assert_eq!(why, "it refers to \"http://127.0.0.1:9/else\", which is not in it");
}

#[test]
fn a_schema_that_contains_itself_is_fine_and_a_value_that_makes_it_explode_is_not() {
    let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    // One way to each place, however many places there are.
    let tree = json!({ "type": "object", "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } } });
    assert_eq!(SchemaValidator::new(&tree).unwrap().check(&deep(100)), Ok(()));
    // Two ways to the same.
    let again = json!({ "properties": { "a": { "$ref": "#" } } });
    let twice = json!({ "allOf": [again, again] });
    let shape = SchemaValidator::new(&twice).unwrap();
    assert_eq!(shape.check(&deep(10)), Ok(()));
    let why = shape.check(&deep(60)).unwrap_err();
    assert_eq!(why, "it is nested too deep for a schema that contains itself in 2 ways");
    let overlapping = json!({ "properties": { "a": { "$ref": "#" } }, "patternProperties": { "^a": { "$ref": "#" } } });
    assert!(SchemaValidator::new(&overlapping).unwrap().check(&deep(60)).is_err());
    for endless in [json!({ "$ref": "#" }), json!({ "allOf": [{ "$ref": "#" }, { "$ref": "#" }] })] {
        assert_eq!(SchemaValidator::new(&endless).unwrap().check(&json!(1)), Ok(()));
    }
}
