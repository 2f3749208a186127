//! Drawings, as they are seen.

use folkmoot_api::core::Timestamp;
use serde_json::{Value, json};

use super::draw;
use crate::views::run::RunDetails;

/// So many milliseconds after the run began.
fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(1_770_000_000_000_000 + millis * 1000)
}

fn run(ended: Option<i64>) -> Value {
    json!({
        "id": "run-1", "kind": "custom", "title": "News", "workflow": "publish@1", "session_id": "run-1",
        "status": if ended.is_some() { "completed" } else { "parked" }, "initiator": "agent", "parent": null,
        "started_at": at(0), "ended_at": ended.map(at), "node": null, "steps": 1, "journal_bytes": 1, "active_ms": 1,
        "limits": {}, "stopped": null, "ending": null,
    })
}

/// An entry of this kind from one moment to another; without the second it goes on.
fn entry(key: &str, kind: &str, from: i64, to: Option<i64>) -> Value {
    let state = match (kind, to) {
        (_, Some(_)) => "done",
        ("step" | "once", None) => "begun",
        (_, None) => "waiting",
    };
    let outcome = (kind == "gate").then(|| to.map(|_| "approved")).flatten();
    json!({
        "key": key, "kind": kind, "state": state, "attempts": 1, "began_at": at(from), "at": at(to.unwrap_or(from)),
        "duration_ms": to.map(|to| to - from), "agent_id": null, "result": null, "error": null, "retry_at": null,
        "gate_id": null, "question_id": null, "run_id": null, "until": null, "outcome": outcome,
    })
}

fn whole(ended: Option<i64>, journal: Vec<Value>) -> RunDetails {
    RunDetails {
        run: serde_json::from_value(run(ended)).unwrap(),
        journal: serde_json::from_value(Value::from(journal)).unwrap(),
        gates: Vec::new(),
        questions: Vec::new(),
    }
}

/// Drawn without colour; no line is wider than it may be.
fn drawn(whole: &RunDetails, now: i64, columns: usize) -> String {
    let drawn = anstream::adapter::strip_str(&draw(whole, at(now), columns)).to_string();
    for line in drawn.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= columns, "{width} columns: {line:?}");
    }
    drawn
}

#[test]
fn one_step() {
    insta::assert_snapshot!(drawn(&whole(Some(1_500), vec![entry("draft", "step", 0, Some(1_500))]), 9_999, 80));
}

#[test]
fn ten_steps_of_every_sort() {
    let mut failed = entry("upload", "step", 63_000, Some(64_000));
    failed["state"] = json!("failed");
    failed["error"] = json!({"code": "busy", "message": "x"});
    failed["attempts"] = json!(3);
    let journal = vec![
        entry("draft", "step", 0, Some(4_200)),
        entry("title", "once", 4_200, Some(4_200)),
        entry("publish", "gate", 4_300, Some(42_000)),
        entry("what time it was", "now", 42_000, Some(42_000)),
        entry("told the feed", "event", 42_000, Some(42_000)),
        entry("rest", "sleep", 42_000, Some(62_000)),
        entry("build.1/part-of-a-very-long-name-that-nobody-can-read/attempt-1", "step", 62_000, Some(63_000)),
        entry("build.1/part-of-a-very-long-name-that-nobody-can-read/attempt-2", "step", 62_000, Some(62_500)),
        failed,
        entry("日本語の鍵", "run", 64_000, None),
        entry("colour", "question", 65_000, None),
        entry("call", "step", 66_000, None),
    ];
    insta::assert_snapshot!(drawn(&whole(None, journal), 90_000, 80));
}

#[test]
fn two_hundred_steps_are_two_hundred_lines() {
    let steps: Vec<_> = (0..200).map(|n| entry(&format!("step-{n}"), "step", n * 100, Some(n * 100 + 90))).collect();
    for columns in [20, 40, 80, 200] {
        let drawn = drawn_loosely(&whole(Some(20_000), steps.clone()), columns);
        assert_eq!(drawn.lines().filter(|line| line.starts_with("step-")).count(), 200);
        let bars = drawn.lines().filter(|line| line.contains(['█', '▏'])).count();
        assert_eq!(bars, 201, "each is seen, and the legend explains one of them");
    }
    let last = drawn(&whole(Some(20_000), steps), 0, 80).lines().nth(202).unwrap().to_owned();
    insta::assert_snapshot!(last);
}

/// On a terminal that is narrower than the narrowest axis lines may be too wide; nothing else may
/// happen.
fn drawn_loosely(whole: &RunDetails, columns: usize) -> String {
    anstream::adapter::strip_str(&draw(whole, at(0), columns)).to_string()
}

#[test]
fn what_takes_no_time_is_there_all_the_same() {
    let journal = (0..3).map(|n| entry(&format!("instant-{n}"), "step", 0, Some(0))).collect();
    insta::assert_snapshot!(drawn(&whole(Some(0), journal), 0, 80));
}

#[test]
fn a_long_wait_leaves_room_for_short_work() {
    let day = 86_400_000;
    let journal = vec![
        entry("draft", "step", 0, Some(900)),
        entry("publish", "gate", 900, Some(3 * day)),
        entry("ship", "once", 3 * day, Some(3 * day + 20)),
    ];
    insta::assert_snapshot!(drawn(&whole(Some(3 * day + 20), journal), 0, 80));
}

#[test]
fn a_run_without_steps_says_so() {
    assert_eq!(drawn(&whole(None, Vec::new()), 1_000, 80), "News · parked · 1.0 s so far\nIt has no steps yet.");
}

#[test]
fn clocks_that_disagree_and_times_of_years_draw_something() {
    let year = 31_536_000_000;
    let journal = vec![entry("before", "step", -5_000, Some(-4_000)), entry("after", "step", 99 * year, None)];
    for now in [-10_000, 0, 50 * year] {
        drawn_loosely(&whole(None, journal.clone()), 80);
        let _ = draw(&whole(None, journal.clone()), at(now), 80);
    }
    let cancelled = whole(Some(1_000), vec![entry("never ended", "step", 500, None)]);
    assert!(!drawn(&cancelled, 5_000, 80).contains('▶'), "a run that is over leaves nothing that goes on");
}
