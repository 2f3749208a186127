//! Whatever text comes from outside is read or refused, and nothing panics.

use std::{borrow::Cow, str::FromStr, sync::Arc};

use folkmoot_core::{
    Digest, Fact, GateId, Name, Phase, RunId, Timeout, Timestamp, WorkflowName,
    gate::{Gate, GateEvent},
    halt::{Halt, HaltEvent},
    journal::EntryKey,
    question::{Question, QuestionEvent},
    run::{Run, RunEvent},
    text,
};
use folkmoot_mangle::check_text;

/// What is read is written as it was read.
fn comes_back<T: FromStr + ToString>(text: &str) {
    if let Ok(read) = text.parse::<T>() {
        assert_eq!(read.to_string(), text);
    }
}

#[test]
fn ids_digests_and_keys_come_back_as_they_were_or_are_refused() {
    let digest = format!("sha256:{}", "0f".repeat(32));
    let samples = [
        "gate-run-7-merge-1769850000000-0f3a9c1e5b7d2468",
        "alice",
        "ai:critic@2",
        "publish@1",
        digest.as_str(),
        "critique.2/attack",
    ];
    check_text("ids, digests and keys", &samples, |text| {
        comes_back::<GateId>(text);
        comes_back::<RunId>(text);
        comes_back::<Name>(text);
        comes_back::<Phase>(text);
        comes_back::<WorkflowName>(text);
        comes_back::<Digest>(text);
        let _ = Digest::from_hex(text);
        if let Ok(key) = text.parse::<EntryKey>() {
            assert_eq!(key.as_str(), text);
        }
        assert!(text::shortened(text, 20).len() <= 60);
    });
}

#[test]
fn moments_and_timeouts_come_back_as_they_were_or_are_refused() {
    let samples = [
        r#""2026-01-31T09:05:00.000000Z""#,
        r#""0001-01-01T00:00:00Z""#,
        "1800000",
        r#""never""#,
        "18446744073709551615",
    ];
    check_text("moments and timeouts", &samples, |text| {
        if let Ok(moment) = serde_json::from_str::<Timestamp>(text) {
            let written = serde_json::to_string(&moment).expect("a moment is JSON");
            assert_eq!(serde_json::from_str::<Timestamp>(&written).ok(), Some(moment), "{text}");
        }
        if let Ok(timeout) = serde_json::from_str::<Timeout>(text) {
            let _ = timeout.deadline(Timestamp::from_micros(i64::MAX / 2));
        }
    });
}

/// The log can be changed by whoever owns the disk. Reading it says so, and does not panic.
#[test]
fn a_log_that_somebody_wrote_into_is_read_or_broken() {
    let kinds = [
        "gate.opened",
        "gate.amended",
        "gate.vote",
        "gate.extended",
        "gate.escalated",
        "gate.decided",
        "gate.refused",
        "question.asked",
        "question.answered",
        "question.reminded",
        "question.refused",
        "question.fetched",
        "halt.raised",
        "halt.lifted",
        "halt.refused",
        "run.started",
        "run.claimed",
        "run.parked",
        "run.ended",
        "step.recorded",
    ];
    let samples = [
        r#"{"id":"gate-1","run_id":null,"session_id":null,"content":{"title":"t","summary":"sha256:0f","phase":"merge","kind":"custom","risk":"low","artifacts":[],"allowed":["approve","reject"],"on_timeout":"fail","reviewers":[],"quorum":1},"timeout_ms":1000,"seq":1}"#,
        r#"{"requested_by":"a","decision":{"request_id":"gate-1","decision":"approved","reviewer":"b","reason":"","decided_at":"2026-01-31T09:05:00.000000Z","digest":"sha256:4f8a7f83406c22eb069500908e4678193db873068a49909f0ec6669a41b7f767","revision":1,"outcome":"proceed"}}"#,
        r#"{"asked_by":"a","agent_id":"b","status":"cancelled","answer":null,"by":"a","at":"2026-01-31T09:05:00.000000Z","reason":""}"#,
        r#"{"id":"halt-1","scope":"agent","agent_id":"a","session_id":null,"reason":"r","raised_by":"b","raised_at":"2026-01-31T09:05:00.000000Z","seq":1,"lifted":null}"#,
    ];
    check_text("payloads in the log", &samples, |payload| {
        for kind in kinds {
            let fact = Fact {
                stream: Arc::from("gate-1"),
                stream_seq: 1,
                kind: Cow::Borrowed(kind),
                version: 1,
                actor: "a".parse().expect("a name"),
                on_behalf_of: None,
                session: None,
                command_id: "cmd-1".parse().expect("an id"),
                at: Timestamp::from_micros(1),
                payload: payload.to_owned(),
                token_id: None,
            };
            let _ = (GateEvent::read(&fact), QuestionEvent::read(&fact), HaltEvent::read(&fact), RunEvent::read(&fact));
            let _ = (Gate::fold([&fact]), Question::fold([&fact]), Halt::fold([&fact]), Run::fold([&fact]));
        }
    });
}
