use folkmoot_core::record::TEXT_BYTES_MAX;
use serde_json::json;

use super::*;

fn session(rounds: u32) -> DebateRecord {
    DebateRecord::Session(SessionRecord {
        topic: "Which cache?".to_owned(),
        topology: "graph_mesh".to_owned(),
        coordination_protocol: "cpde".to_owned(),
        config: json!({"max_rounds": 3, "min_consensus": 0.75}),
        total_rounds: rounds,
        final_consensus_score: Share::hundredths(81).ok(),
        outcome: (rounds > 1).then(|| json!({"winner": "a"})),
        metadata: Value::Null,
    })
}

fn turn(change: impl FnOnce(&mut TurnRecord)) -> DebateRecord {
    let mut turn = TurnRecord {
        id: uuid(&["r1", "turn", "1"]),
        round: 1,
        phase: DebatePhase::Proposal,
        agent_id: "proposer-1".parse().unwrap(),
        agent_role: AgentRole::Proposer,
        provider: "rehearsal".to_owned(),
        model: "rehearsal-1".to_owned(),
        content: "Take the small one.".to_owned(),
        confidence: Share::hundredths(70).ok(),
        tool_calls: json!([{"tool": "search", "seconds": 0.25}]),
        test_results: Value::Null,
        reflections: Value::Null,
        metadata: json!({"prompt": "What is best?"}),
        response_time_ms: 1200,
    };
    change(&mut turn);
    DebateRecord::Turn(Box::new(turn))
}

fn version(change: impl FnOnce(&mut VersionRecord)) -> DebateRecord {
    let mut version = VersionRecord {
        id: uuid(&["r1", "version", "1"]),
        turn_id: Some(uuid(&["r1", "turn", "1"])),
        language: "python".to_owned(),
        code: "print(1)".to_owned(),
        version_number: 1,
        quality_score: None,
        test_pass_rate: Some(Share::ONE),
        metrics: json!({"complexity": 1.5}),
        diff_from_previous: String::new(),
    };
    change(&mut version);
    DebateRecord::Version(Box::new(version))
}

fn line(change: impl FnOnce(&mut LogLine)) -> DebateRecord {
    let mut line =
        LogLine { level: LogLevel::Warn, message: "late".to_owned(), data: json!({"n": 1}), expires_after: None };
    change(&mut line);
    DebateRecord::Line(line)
}

fn lesson(change: impl FnOnce(&mut LessonRecord)) -> DebateRecord {
    let mut lesson = LessonRecord {
        id: uuid(&["r1", "lesson", "1"]),
        domain: Domain::Code,
        language: None,
        root_cause: "no test for the empty list".to_owned(),
        lesson: "test the empty list first".to_owned(),
        confidence: Share::CONFIDENCE,
        tags: vec!["tests".to_owned()],
        rehearsed: false,
    };
    change(&mut lesson);
    DebateRecord::Lesson(lesson)
}

fn hour() -> Duration {
    Duration::from_secs(3600)
}

/// What is said to one record.
fn answer(record: DebateRecord) -> String {
    match NewRecord::try_from(record) {
        Ok(_) => "kept".to_owned(),
        Err(Refusal::Invalid { field, .. }) => field.to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let text = |len| "x".repeat(len);
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let cases = [
        ("kept", turn(|turn| turn.content = text(TEXT_BYTES_MAX))),
        ("content", turn(|turn| turn.content = text(TEXT_BYTES_MAX + 1))),
        ("content", turn(|turn| turn.content = "a\0b".to_owned())),
        ("kept", turn(|turn| turn.content = String::new())),
        ("kept", turn(|turn| turn.metadata = json!(text(JSON_BYTES_MAX - 2)))),
        ("metadata", turn(|turn| turn.metadata = json!(text(JSON_BYTES_MAX - 1)))),
        ("tool_calls", turn(|turn| turn.tool_calls = json!({"a": ["\0"]}))),
        ("kept", turn(|turn| turn.reflections = deep(64))),
        ("reflections", turn(|turn| turn.reflections = deep(65))),
        ("test_results", turn(|turn| turn.test_results = json!({"a\0": 1}))),
        ("id", turn(|turn| turn.id = "1".to_owned())),
        ("id", turn(|turn| turn.id = turn.id.to_uppercase())),
        ("provider", turn(|turn| turn.provider = " ".to_owned())),
        ("model", turn(|turn| turn.model = text(301))),
        ("response_time_ms", turn(|turn| turn.response_time_ms = u64::MAX)),
        ("version_number", version(|version| version.version_number = 0)),
        ("turn_id", version(|version| version.turn_id = Some("the first".to_owned()))),
        ("code", version(|version| version.code = "\0".to_owned())),
        ("metrics", version(|version| version.metrics = json!("\0"))),
        ("message", line(|line| line.message = "\0".to_owned())),
        ("expires_after", line(|line| line.expires_after = Some(Duration::MAX))),
        ("kept", line(|line| line.expires_after = Some(hour()))),
        ("lesson", lesson(|lesson| lesson.lesson = String::new())),
        ("tags", lesson(|lesson| lesson.tags = vec![String::new()])),
        ("tags", lesson(|lesson| lesson.tags = vec![text(1); 33])),
    ];
    for (expected, record) in cases {
        let shown: String = format!("{record:?}").chars().take(200).collect();
        assert_eq!(answer(record), expected, "{shown}");
    }
    let with = |change: fn(&mut SessionRecord)| {
        let DebateRecord::Session(mut said) = session(1) else { unreachable!("it is a session") };
        change(&mut said);
        answer(DebateRecord::Session(said))
    };
    assert_eq!(with(|session| session.topic.clear()), "topic");
    assert_eq!(with(|session| session.topology = "Star".to_owned()), "topology");
    assert_eq!(with(|session| session.coordination_protocol.clear()), "coordination_protocol");
    assert_eq!(with(|session| session.outcome = Some(json!("\0"))), "outcome");
    assert_eq!(with(|session| session.outcome = Some(Value::Null)), "kept");
}
