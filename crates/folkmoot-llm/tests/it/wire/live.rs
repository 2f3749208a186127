//! A real server:
//! `export FOLKMOOT_TEST_OPENAI_URL=http://127.0.0.1:8080/v1`, then
//! `cargo test -p folkmoot-llm live -- --ignored --nocapture`.
//! Any that speaks OpenAI's language will do; what is asked is easy enough for the smallest model.

use std::time::Duration;

use folkmoot_llm::{
    FailureKind, Finish, Model, ModelRequest, Schema,
    provider::{Endpoint, OpenAi},
};
use serde_json::{Value, json};

use super::vendor::Heard;

fn connect(model: Option<&str>) -> OpenAi {
    let url = std::env::var("FOLKMOOT_TEST_OPENAI_URL").expect("FOLKMOOT_TEST_OPENAI_URL says where the server is");
    OpenAi::new(Endpoint::new("live", url), model.map(str::to_owned)).unwrap()
}

fn short(text: &str) -> ModelRequest {
    ModelRequest { max_tokens: 48, temperature: Some(0.0), seed: Some(1), ..ModelRequest::new(text) }
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn a_real_model_is_heard_piece_by_piece() {
    let model = connect(None);
    let request = ModelRequest { system: Some("You are brief.".to_owned()), ..short("What is the capital of France?") };
    let mut heard = Heard::default();
    let answer = model.ask(&request, &mut heard).await.unwrap();
    println!("{answer:#?}\n{} pieces", heard.0.len());
    assert_eq!(heard.0.concat(), answer.text);
    assert!(heard.0.len() > 1 && !answer.usage.estimated && answer.usage.input_tokens > 0);
    assert_eq!(
        model.ask(&request, &mut ()).await.unwrap().text,
        answer.text,
        "a cold model with a seed repeats itself"
    );
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn a_real_model_keeps_to_a_schema() {
    let schema = json!({
        "type": "object",
        "properties": {
            "verdict": { "type": "string", "enum": ["yes", "no"] },
            "confidence": { "type": "integer", "minimum": 0, "maximum": 9 },
        },
        "required": ["verdict", "confidence"],
        "additionalProperties": false,
    });
    let request =
        ModelRequest { schema: Some(Schema { name: "verdict".to_owned(), schema }), ..short("Is water wet?") };
    let answer = connect(None).ask(&request, &mut ()).await.unwrap();
    println!("{} {:?}", answer.text, answer.usage);
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert!(value["verdict"].is_string() && value["confidence"].is_u64(), "{value}");
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn a_real_answer_that_is_cut_off_says_so() {
    let request = ModelRequest { max_tokens: 5, ..short("Count from one to one hundred, in words.") };
    let answer = connect(None).ask(&request, &mut ()).await.unwrap();
    println!("{:?} {:?}", answer.text, answer.usage);
    assert_eq!((answer.finish, answer.usage.output_tokens), (Finish::Length, 5));
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn a_model_that_no_real_server_has_is_refused_or_replaced() {
    let asked = connect(Some("no-such-model")).ask(&short("Hello"), &mut ()).await;
    println!("{asked:?}");
    match asked {
        Ok(answer) => assert_ne!(answer.text, ""),
        Err(failure) => assert_eq!(failure.kind, FailureKind::Refused),
    }
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn what_no_real_server_takes_is_refused() {
    let schema = json!({ "type": "no such type" });
    let request = ModelRequest { schema: Some(Schema { name: "x".to_owned(), schema }), ..short("Hello") };
    let failure = connect(None).ask(&request, &mut ()).await.unwrap_err();
    println!("{failure:?}");
    assert_eq!(failure.kind, FailureKind::Refused);
    let failure = connect(None).ask(&short(&"word ".repeat(100_000)), &mut ()).await.unwrap_err();
    println!("{failure:?}");
    assert_eq!(failure.kind, FailureKind::Refused);
}

#[tokio::test]
#[ignore = "needs a real model: `cargo xtask real-model` starts one and runs this"]
async fn a_real_answer_can_be_left() {
    let model = connect(None);
    let request = ModelRequest { max_tokens: 4096, ..short("Tell a very long story.") };
    let left = tokio::time::timeout(Duration::from_millis(700), model.ask(&request, &mut ())).await;
    println!("{left:?}");
    // The server has room again, because it noticed.
    model.ask(&short("Hello"), &mut ()).await.unwrap();
}
