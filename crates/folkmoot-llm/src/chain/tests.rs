use super::*;
use crate::{
    FailureKind,
    scripted::{
        CollectedText, ScriptedModel,
        ScriptedReply::{self, *},
    },
};

fn chain<const N: usize>(lines: [ScriptedReply; N]) -> FallbackChain {
    let mut links = lines
        .into_iter()
        .enumerate()
        .map(|(number, line)| FallbackModel { name: format!("m{number}"), model: ScriptedModel::new([line]) });
    FallbackChain::new(links.next().unwrap(), links.collect())
}

#[tokio::test(start_paused = true)]
async fn the_next_answers_where_one_fails() {
    let chain =
        chain([Fails(FailureKind::Unauthorised), Breaks("ha", FailureKind::CircuitOpen), Says("hello"), Says("never")]);
    let mut heard = CollectedText::default();
    let answer = chain.ask(&ModelRequest::new("hi"), &mut heard).await.unwrap();
    assert_eq!(heard.0, "hello");
    let failed: Vec<&str> = answer.failed.iter().map(|attempt| attempt.model.as_str()).collect();
    assert_eq!((answer.text.as_str(), failed), ("hello", vec!["m0", "m1"]));
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_each_is_named() {
    let failure = chain([Fails(FailureKind::Unreachable), Fails(FailureKind::Refused)])
        .ask(&ModelRequest::new("hi"), &mut ())
        .await
        .unwrap_err();
    assert_eq!(
        (failure.kind, failure.detail.as_str()),
        (FailureKind::Refused, "as told; before it, scripted: as told")
    );
}

#[tokio::test(start_paused = true)]
async fn a_budget_is_spent_at_every_provider() {
    let failure = chain([Fails(FailureKind::BudgetExceeded), Says("never")])
        .ask(&ModelRequest::new("hi"), &mut ())
        .await
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::BudgetExceeded);
}
