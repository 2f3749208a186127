use std::sync::atomic::Ordering;

use futures_util::future::join_all;

use super::*;
use crate::scripted::{
    CollectedText, ScriptedModel,
    ScriptedReply::{self, *},
};

fn patience() -> RetryPolicy {
    RetryPolicy { attempts: 3, total: Duration::from_secs(60), failures_max: 100, ..RetryPolicy::default() }
}

fn guarded(
    patience: RetryPolicy,
    lines: impl IntoIterator<Item = ScriptedReply>,
) -> (Arc<ScriptedModel>, GuardedModel) {
    let model = ScriptedModel::new(lines);
    let price = serde_json::from_str(r#"{"input_usd": 1.0, "output_usd": 2.0}"#).unwrap();
    let guard = Guard::new("vendor", patience);
    (Arc::clone(&model), GuardedModel { model, name: "m".to_owned(), guard, price: Some(price) })
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_recorded() {
    let (model, guarded) =
        guarded(patience(), [Fails(FailureKind::Unavailable), Breaks("ha", FailureKind::Truncated), Says("hello")]);
    let mut heard = CollectedText::default();
    let answer = guarded.ask(&ModelRequest::new("hi"), &mut heard).await.unwrap();
    assert_eq!(model.calls(), 3);
    let kinds: Vec<FailureKind> = answer.failed.iter().map(|attempt| attempt.failure.kind).collect();
    assert_eq!(kinds, [FailureKind::Unavailable, FailureKind::Truncated]);
    // Of the second attempt something was heard, and it was taken back.
    assert_eq!(heard, CollectedText("hello".to_owned(), 1));
    // 10 tokens at 1 millionth and 5 at 2.
    assert_eq!(answer.cost_usd_micros, Some(20));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_pass_is_not_tried_again() {
    for kind in [FailureKind::Unauthorised, FailureKind::Refused, FailureKind::TooLarge, FailureKind::Withheld] {
        let (model, guarded) = guarded(patience(), [Fails(kind)]);
        let failure = guarded.ask(&ModelRequest::new("hi"), &mut ()).await.unwrap_err();
        assert_eq!((failure.kind, model.calls()), (kind, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_attempts_are_counted() {
    let (model, guarded) = guarded(patience(), vec![Fails(FailureKind::Unavailable); 5]);
    guarded.ask(&ModelRequest::new("hi"), &mut ()).await.unwrap_err();
    assert_eq!(model.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_says_when_is_left_alone_until_then() {
    let (_, guarded) = guarded(patience(), [FailsFor(FailureKind::RateLimited, 7_000), Says("hello")]);
    let begun = Instant::now();
    guarded.ask(&ModelRequest::new("hi"), &mut ()).await.unwrap();
    let took = begun.elapsed();
    assert!((Duration::from_secs(7)..Duration::from_secs(9)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_vendor_that_wants_too_long_is_not_asked_again() {
    let (model, guarded) = guarded(patience(), [FailsFor(FailureKind::RateLimited, 3_600_000)]);
    let begun = Instant::now();
    let failure = guarded.ask(&ModelRequest::new("hi"), &mut ()).await.unwrap_err();
    assert_eq!((failure.kind, model.calls()), (FailureKind::RateLimited, 1));
    assert!(begun.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn all_attempts_together_have_a_limit() {
    let (_, guarded) = guarded(RetryPolicy { total: Duration::from_secs(5), ..patience() }, [Hangs("ha")]);
    let begun = Instant::now();
    let failure = guarded.ask(&ModelRequest::new("hi"), &mut ()).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TimedOut);
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_run_at_the_same_time() {
    let (model, guarded) = guarded(RetryPolicy { concurrency: 3, ..patience() }, vec![Says("hello"); 20]);
    let request = ModelRequest::new("hi");
    let answers = join_all((0..20).map(|_| async { guarded.ask(&request, &mut ()).await })).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(model.most_at_once.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_place_is_not_waited_for_for_ever() {
    let patience = RetryPolicy { concurrency: 1, total: Duration::from_secs(5), ..patience() };
    let (model, guarded) = guarded(patience, [Hangs(""), Says("never")]);
    let request = ModelRequest::new("hi");
    let (first, second) = (guarded.ask(&request, &mut ()).await, guarded.guard.places.available_permits());
    // The first gave its place back when its time was over.
    assert_eq!((first.unwrap_err().kind, second), (FailureKind::TimedOut, 1));
    let _taken = guarded.guard.places.acquire().await.unwrap();
    assert_eq!(guarded.ask(&request, &mut ()).await.unwrap_err().kind, FailureKind::TimedOut);
    assert_eq!(model.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn whoever_keeps_failing_is_left_alone_for_a_while_and_then_tried_by_one() {
    let patience = RetryPolicy { attempts: 1, failures_max: 3, rest: Duration::from_secs(30), ..patience() };
    let lines = [vec![Fails(FailureKind::Unavailable); 4], vec![Says("hello"); 2]].concat();
    let (model, guarded) = guarded(patience, lines);
    let request = ModelRequest::new("hi");
    let mut kinds = Vec::new();
    for _ in 0..4 {
        kinds.push(guarded.ask(&request, &mut ()).await.unwrap_err().kind);
    }
    let open = FailureKind::CircuitOpen;
    assert_eq!(kinds[2..], [FailureKind::Unavailable, open]);
    assert_eq!(model.calls(), 3);

    // After the rest one may try. It fails, and the rest begins again at once.
    sleep(Duration::from_secs(31)).await;
    assert_eq!(guarded.ask(&request, &mut ()).await.unwrap_err().kind, FailureKind::Unavailable);
    assert_eq!(guarded.ask(&request, &mut ()).await.unwrap_err().kind, open);
    sleep(Duration::from_secs(31)).await;
    let (one, other) = {
        let ask = || async { guarded.ask(&request, &mut ()).await };
        tokio::join!(ask(), ask())
    };
    assert_eq!((one.is_ok(), other.unwrap_err().kind), (true, open));
    assert!(guarded.ask(&request, &mut ()).await.is_ok());
}
