use serde_json::json;

use super::*;
use crate::scripted::answer;

#[tokio::test]
async fn a_call_that_was_not_made_says_which() {
    let replay = Replay::new([ModelCallRecord::new(&ModelRequest::new("a"), &Ok(answer("one")))]);
    replay.ask(&ModelRequest::new("a"), &mut ()).await.unwrap();
    for never in ["a", "b"] {
        let failure = replay.ask(&ModelRequest::new(never), &mut ()).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::NotRecorded);
        assert!(failure.detail.ends_with(&format!("which begins {never:?}")), "{}", failure.detail);
    }
}

#[tokio::test]
async fn recordings_are_found_in_a_journal_however_deep() {
    let [one, two] = ["one", "two"].map(|text| ModelCallRecord::new(&ModelRequest::new(text), &Ok(answer(text))));
    let journal = [
        json!({ "turn": { "calls": [one] }, "call": "not one", "outcome": { "inside": two } }),
        json!(["nothing", 7, null]),
    ];
    let replay = Replay::from_journal(&journal);
    assert_eq!(replay.left(), 2);
    assert_eq!(replay.ask(&ModelRequest::new("two"), &mut ()).await.unwrap().text, "two");
}

#[test]
fn a_file_that_is_none_says_which_line() {
    let good = serde_json::to_string(&ModelCallRecord::new(&ModelRequest::new("a"), &Ok(answer("one")))).unwrap();
    let cut = &good[..good.len() / 2];
    let error = Replay::from_json_lines(format!("{good}\n\n{cut}").as_bytes()).unwrap_err();
    assert!(error.starts_with("line 3 is no recording: EOF"), "{error}");
    assert!(Replay::from_json_lines(&b"\xff\xfe\n"[..]).unwrap_err().starts_with("line 1 is no recording"));
}

#[tokio::test]
async fn whoever_wants_an_answer_gets_one_that_was_given() {
    let request = ModelRequest::new("a");
    let failed = ModelCallRecord::new(&request, &Err(ModelFailure::new("p", FailureKind::Truncated, "cut")));
    let answered = ModelCallRecord::new(&request, &Ok(answer("one")));
    let recordings = [failed, answered];
    assert!(Replay::new(recordings.clone()).ask(&request, &mut ()).await.is_err());
    assert_eq!(Replay::new(recordings).answers().ask(&request, &mut ()).await.unwrap().text, "one");
}
