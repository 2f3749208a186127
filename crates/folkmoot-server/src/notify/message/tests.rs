use super::*;

#[test]
fn how_long_is_left_is_said_as_people_say_it() {
    let spans = [
        (1, "1 min"),
        (60, "1 min"),
        (1_741, "30 min"),
        (3_600, "1 h"),
        (5_400, "1 h 30 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
    ];
    for (seconds, said) in spans {
        assert_eq!(span(Duration::from_secs(seconds)), said);
    }
    let now: Timestamp = serde_json::from_str("\"2026-01-31T12:00:00Z\"").unwrap();
    let at = |seconds| deadline(Deadline::At(now.plus(Duration::from_secs(seconds))), now);
    assert_eq!(at(1_800), "2026-01-31 12:30 UTC (in 30 min)");
    assert_eq!(at(0), "2026-01-31 12:00 UTC (over)");
    assert_eq!(deadline(Deadline::Never, now), "none");
}

#[test]
fn two_tests_are_two_messages() {
    let at = |micros| test("ops", Timestamp::from_micros(micros));
    assert_ne!(at(1).id, at(2).id);
    assert!(at(1).text.contains("channel ops"));
}

#[test]
fn a_halt_says_who_and_why() {
    let fact = |kind: &str, stream: &str| Fact {
        stream: stream.into(),
        stream_seq: 1,
        kind: kind.to_owned().into(),
        version: 1,
        actor: "alice".parse().unwrap(),
        on_behalf_of: None,
        session: None,
        command_id: "c-1".parse().unwrap(),
        at: Timestamp::from_micros(0),
        payload: String::new(),
        token_id: None,
    };
    let told = of_anything(&fact("halt.raised", "halt-1"), &json!({"reason": "it deletes things", "scope": "all"}));
    assert_eq!((told.title.as_str(), told.text.as_str()), ("Work was halted", "it deletes things"));
    assert_eq!(told.facts, [("By", "alice".to_owned()), ("Scope", "all".to_owned())]);
    let told = of_anything(&fact("run.started", "run:r-1"), &json!(null));
    assert_eq!(told.title, "run.started: run:r-1");
}
