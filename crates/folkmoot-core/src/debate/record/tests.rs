use serde_json::json;

use super::*;
use crate::{
    Action, Actor, Digest, Outcome, Refusal,
    audit::{self, check_row},
    journal::{EntryKind, EntryState, Fence, NewEntry, Recording, Write},
    transcript::{World, play, time},
};

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
    };
    change(&mut lesson);
    DebateRecord::Lesson(lesson)
}

fn hour() -> Duration {
    Duration::from_secs(3600)
}

/// A run of this workflow that is worked on.
fn running(workflow: &str) -> World {
    play(&format!("09:00 bot starts r1 {workflow}\n09:00 system claims node=n1"))
}

/// Keeps records under a key; says what came of it.
fn keep(world: &mut World, key: &str, payload: &str, records: Vec<DebateRecord>) -> Result<EntryState, Refusal> {
    let entry = NewEntry {
        key: key.parse().unwrap(),
        kind: EntryKind::Event,
        ordinal: 1,
        input: None,
        agent_id: None,
        began_at: time("09:01"),
    };
    let write = Write::Emit { kind: "debate.turn".to_owned(), payload: payload.to_owned(), records };
    let recording = Recording { run: "r1".parse().unwrap(), fence: Fence::Epoch(1), entry, write };
    match world.execute(Actor::System, Action::Record(Box::new(recording)), time("09:01"))? {
        Outcome::Entry(entry) | Outcome::Stands(entry) => Ok(entry.state),
        other => panic!("an entry was expected, and this came: {other:?}"),
    }
}

/// What a debate says to one record.
fn answer(record: DebateRecord) -> String {
    match keep(&mut running("debate@1"), "a", "{}", vec![record]) {
        Ok(_) => "kept".to_owned(),
        Err(Refusal::Invalid { field, .. }) => field.to_owned(),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_uuid_is_the_same_for_the_same_parts_and_no_others() {
    assert_eq!(uuid(&["r1", "turn", "1"]), "5cf2e084-fc6c-8c54-876c-b84be1dda9f6");
    let others =
        [uuid(&["r1", "turn"]), uuid(&["r1t", "urn"]), uuid(&["r1turn"]), uuid(&["r1", "turn", ""]), uuid(&[])];
    for (n, one) in others.iter().enumerate() {
        assert!(!others[n + 1..].contains(one), "{one}");
        let letters: Vec<char> = one.chars().collect();
        assert!(letters.len() == 36 && letters[14] == '8' && "89ab".contains(letters[19]), "{one} is not of version 8");
    }
}

#[test]
fn an_event_tells_of_each_row_and_carries_none_of_its_text() {
    let mut world = running("debate@1");
    let records = vec![session(0), turn(|_| ()), version(|_| ()), line(|_| ()), lesson(|_| ())];
    keep(&mut world, "a", r#"{"round": 1}"#, records).unwrap();
    let event = world.log.last().unwrap();
    let told: Value = serde_json::from_str(&event.fact.payload).unwrap();
    assert_eq!(told["round"], 1);
    let said =
        |note: &Value| (note["table"].clone(), note["id"].clone(), note["contents"].as_array().map_or(0, Vec::len));
    let notes: Vec<_> = told["records"].as_array().unwrap().iter().map(said).collect();
    let id = |noun| json!(uuid(&["r1", noun, "1"]));
    let line = json!(uuid(&["r1", "line", &(event.fact.stream_seq * 1024 + 3).to_string()]));
    assert_eq!(
        notes,
        [
            (json!("debate_sessions"), json!("r1"), 2),
            (json!("debate_turns"), id("turn"), 3),
            (json!("code_versions"), json!("1"), 2),
            (json!("debate_logs"), line, 0),
            (json!("lessons"), id("lesson"), 2),
        ]
    );
    for text in ["small one", "Which cache", "print(1)", "empty list", "What is best", "late"] {
        assert!(!event.fact.payload.contains(text), "{text} is in the log");
        let is_kept = world.artifacts.values().any(|content| String::from_utf8_lossy(content).contains(text));
        assert_eq!(is_kept, text != "late", "{text}: a line's text goes with its row, every other is an artifact");
    }
}

#[test]
fn what_is_kept_is_known_when_it_is_said_again() {
    let mut world = running("debate@1");
    let first = keep(&mut world, "a", "{}", vec![turn(|_| ())]).unwrap();
    let (log, kept) = (world.log.len(), world.kept.clone());
    assert_eq!(keep(&mut world, "a", "{}", vec![turn(|_| ())]), Ok(first));
    assert_eq!((world.log.len(), &world.kept), (log, &kept));
}

#[test]
fn what_is_kept_again_under_its_id_stands_instead_of_what_was_there() {
    let mut world = running("debate@1");
    keep(&mut world, "a", "{}", vec![session(1), turn(|_| ()), version(|_| ())]).unwrap();
    let later = version(|version| version.code = "print(2)".to_owned());
    keep(&mut world, "b", "{}", vec![session(2), turn(|turn| turn.round = 2), later]).unwrap();
    let rows: Vec<&StoredRow> = world.kept["r1"].values().collect();
    let [StoredRow::Session(session), StoredRow::Turn(turn), StoredRow::Version(version)] = rows.as_slice() else {
        panic!("three were expected: {rows:?}");
    };
    assert_eq!((session.total_rounds, turn.round), (2, 2));
    assert_eq!(version.code, Digest::of(b"print(2)"));
    let run: RunId = "r1".parse().unwrap();
    let (record, events) = (world.run_record(&run), world.stream("run:r1"));
    assert_eq!(check_row("run:r1", Some(&record), &events), None);
    let before = Digest::of(b"print(1)");
    assert!(!record.contents().contains(&before), "no row shows it");
    assert!(record.all_contents(&events).contains(&before), "it is still kept, and must go with the rest");
}

#[test]
fn a_row_that_somebody_changed_added_or_removed_is_found() {
    let mut world = running("debate@1");
    let passing = line(|line| line.expires_after = Some(hour()));
    let records = vec![session(1), turn(|_| ()), version(|_| ()), lesson(|_| ()), line(|_| ()), passing];
    keep(&mut world, "a", "{}", records).unwrap();
    let (run, events) = ("r1".parse::<RunId>().unwrap(), world.stream("run:r1"));
    let problem = |world: &World| check_row("run:r1", Some(&world.run_record(&run)), &events).map(|it| it.problem);
    assert_eq!(problem(&world), None);
    for (key, row) in &world.kept["r1"] {
        let mut changed = world.clone();
        let mut fleeting = false;
        let row_now = match row.clone() {
            StoredRow::Session(row) => StoredRow::Session(Box::new(StoredSession { total_rounds: 9, ..*row })),
            StoredRow::Turn(row) => StoredRow::Turn(Box::new(StoredTurn { confidence: None, ..*row })),
            StoredRow::Version(row) => StoredRow::Version(Box::new(StoredVersion { test_pass_rate: None, ..*row })),
            StoredRow::Line(row) => {
                fleeting = row.expires_at != crate::Deadline::Never;
                StoredRow::Line(Box::new(StoredLine { message: "in time".to_owned(), ..*row }))
            }
            StoredRow::Lesson(row) => StoredRow::Lesson(Box::new(StoredLesson { confidence: Share::ONE, ..*row })),
        };
        changed.kept.get_mut("r1").unwrap().insert(key.clone(), row_now);
        let named = format!("in {} {}", key.0, key.1);
        assert!(problem(&changed).is_some_and(|said| said.ends_with(&named)), "{named} was changed");
        let mut removed = world.clone();
        removed.kept.get_mut("r1").unwrap().remove(key);
        assert_eq!(problem(&removed).is_some_and(|said| said.ends_with(&named)), !fleeting, "{named} was removed");
    }
    let mut added = world.clone();
    let mut forged = world.kept["r1"].values().find(|row| row.table() == DebateTable::Turns).unwrap().clone();
    let StoredRow::Turn(row) = &mut forged else { unreachable!("it is a turn") };
    row.id = uuid(&["r1", "turn", "forged"]);
    added.kept.get_mut("r1").unwrap().insert((DebateTable::Turns, row.id.clone()), forged);
    assert!(problem(&added).unwrap().contains("in debate_turns"));
}

#[test]
fn only_a_debate_keeps_records_and_says_nothing_of_them_itself() {
    let field = |answer| match answer {
        Err(Refusal::Invalid { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(keep(&mut running("draft@1"), "a", "{}", vec![turn(|_| ())])), "records");
    for payload in ["[]", "1", ""] {
        assert_eq!(field(keep(&mut running("debate@1"), "a", payload, vec![turn(|_| ())])), "payload", "{payload:?}");
        keep(&mut running("debate@1"), "a", payload, Vec::new()).unwrap();
    }
    let forged = r#"{"records": [{"table": "debate_turns", "id": "x", "digest": "sha256:00"}]}"#;
    assert_eq!(field(keep(&mut running("debate@1"), "a", forged, Vec::new())), "payload");
    assert_eq!(field(keep(&mut running("debate@1"), "a", forged, vec![turn(|_| ())])), "payload");
    // What others tell is theirs to name, and is no row.
    keep(&mut running("draft@1"), "a", forged, Vec::new()).unwrap();
    let many = |n| (0..n).map(|_| turn(|_| ())).collect::<Vec<_>>();
    assert_eq!(field(keep(&mut running("debate@1"), "a", "{}", many(RECORDS_MAX + 1))), "records");
    keep(&mut running("debate@1"), "a", "{}", many(RECORDS_MAX)).unwrap();
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let text = |len| "x".repeat(len);
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let cases = [
        ("kept", turn(|turn| turn.content = text(CONTENT_BYTES_MAX))),
        ("content", turn(|turn| turn.content = text(CONTENT_BYTES_MAX + 1))),
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

#[test]
fn what_is_kept_counts_as_what_the_run_has_written() {
    let mut world = play("09:00 bot starts r1 debate@1 bytes=2000\n09:00 system claims node=n1");
    let long = || turn(|turn| turn.content = "x".repeat(1000));
    let state = keep(&mut world, "a", "{}", vec![long()]).unwrap();
    assert!(matches!(state, EntryState::Done { bytes, .. } if bytes > 1000), "{state:?}");
    assert!(matches!(keep(&mut world, "b", "{}", vec![long()]), Err(Refusal::LimitExceeded { .. })));
}

#[test]
fn a_note_that_cannot_be_read_is_a_broken_log() {
    let mut world = running("debate@1");
    keep(&mut world, "a", "{}", vec![turn(|_| ())]).unwrap();
    let (record, mut events) = (world.run_record(&"r1".parse().unwrap()), world.stream("run:r1"));
    let last = events.last_mut().unwrap();
    last.fact.payload = last.fact.payload.replace("debate_turns", "debate_burns");
    let problem = audit::check_row("run:r1", Some(&record), &events).unwrap().problem;
    assert!(problem.contains("do not make a run") && problem.contains("debate_burns"), "{problem}");
}
