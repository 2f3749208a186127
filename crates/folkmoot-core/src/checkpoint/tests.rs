use super::{Checkpoint, CheckpointMismatch, LogSummary};
use crate::{Digest, Head, Timestamp};

fn hash(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn checkpoint() -> Checkpoint {
    Checkpoint::new(Head { position: 7, hash: hash("seventh") }, hash("first"), Timestamp::from_micros(0))
}

fn told(seen: LogSummary) -> String {
    checkpoint().check(&seen).map_or_else(|broken| broken.to_string(), |()| "holds".to_owned())
}

#[test]
fn a_log_that_has_grown_still_holds_its_checkpoint() {
    let seen = LogSummary { first: Some(hash("first")), there: Some(hash("seventh")), end: 9 };
    assert_eq!(told(seen), "holds");
    assert_eq!(told(LogSummary { end: 7, ..seen }), "holds");
}

#[test]
fn each_way_to_break_it_has_a_sentence_of_its_own() {
    let seen = LogSummary { first: Some(hash("first")), there: Some(hash("seventh")), end: 9 };
    for (seen, expected) in [
        (LogSummary { there: None, end: 6, ..seen }, "the end is missing"),
        (LogSummary { first: None, there: None, end: 0 }, "the end is missing"),
        (LogSummary { there: Some(hash("another")), ..seen }, "the past was rewritten"),
        (LogSummary { there: None, ..seen }, "event 7 is missing"),
        (LogSummary { first: Some(hash("other")), ..seen }, "this checkpoint is of another log"),
    ] {
        assert!(told(seen).starts_with(expected), "{expected:?} was expected, not {:?}", told(seen));
    }
    let other = Checkpoint { log: "side".to_owned(), ..checkpoint() };
    assert_eq!(other.check(&seen), Err(CheckpointMismatch::OtherName("side".to_owned())));
}

#[test]
fn a_checkpoint_is_written_as_documented() {
    let written = crate::canonical::canonical(&serde_json::to_value(checkpoint()).unwrap()).unwrap();
    let expected = format!(
        r#"{{"at":"1970-01-01T00:00:00.000000Z","first":"{}","hash":"{}","log":"main","position":7,"type":"folkmoot.checkpoint.v1"}}"#,
        hash("first").hex(),
        hash("seventh").hex()
    );
    assert_eq!(written, expected);
    assert_eq!(serde_json::from_str::<Checkpoint>(&written).unwrap(), checkpoint());
}
