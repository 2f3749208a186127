use super::*;
use crate::scripted::{
    CollectedText, ScriptedModel,
    ScriptedReply::{self, *},
};

async fn asked(lines: impl IntoIterator<Item = ScriptedReply>) -> (ModelAnswer, usize, String) {
    let model = ScriptedModel::new(lines);
    let mut heard = CollectedText::default();
    let request = ModelRequest { idempotency_key: Some("k".to_owned()), ..ModelRequest::new("Tell me all") };
    let answer = ask(&*model, &Prompts::embedded(), &request, &mut heard).await.unwrap();
    let keys: Vec<String> =
        model.asked.lock().unwrap().iter().map(|request| request.idempotency_key.clone().unwrap()).collect();
    let expected: Vec<String> =
        (0..keys.len()).map(|time| if time == 0 { "k".to_owned() } else { format!("k-rest-{time}") }).collect();
    assert_eq!(keys, expected, "each is a call of its own");
    (answer, model.calls(), heard.0)
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_an_answer_that_was_cut_off_is_asked_for() {
    let (answer, calls, heard) = asked([IsCutOff("## Risks and a lo"), Says("ng list")]).await;
    assert_eq!((answer.text.as_str(), answer.finish, calls), ("## Risks and a long list", Finish::Stop, 2));
    assert_eq!(heard, answer.text, "whoever listens hears all of it");
    assert_eq!((answer.usage.input_tokens, answer.usage.output_tokens, answer.latency_ms), (20, 10, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_repeated_before_the_rest_is_there_once() {
    let (answer, ..) =
        asked([IsCutOff("It ends with these very words"), Says("with these very words, and more")]).await;
    assert_eq!(answer.text, "It ends with these very words, and more");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_ends_stays_cut_off() {
    let (answer, calls, _) = asked([IsCutOff("a"), IsCutOff("b"), IsCutOff("c"), IsCutOff("d")]).await;
    assert_eq!((answer.text.as_str(), answer.finish, calls), ("abcd", Finish::Length, 4));
    let (answer, calls, _) = asked([IsCutOff("a"), Fails(FailureKind::Unreachable)]).await;
    assert_eq!((answer.text.as_str(), answer.finish, calls), ("a", Finish::Length, 2), "what was paid for is kept");
}
