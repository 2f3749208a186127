use serde_json::json;

use super::*;
use crate::{
    Actor, Outcome, Principal, Role,
    audit::{self, check_row},
    journal::{EntryKind, EntryState, Fence, JournalWrite, NewEntry, Write},
    run,
    transcript::{World, play, time},
};

/// The first attempt at something, at the end of this round.
fn attempt(round: u32) -> NewRecord {
    let fields = json!({"round": round, "by": "builder", "score": 81, "log": format!("built in round {round}"),
        "metrics": {"seconds": 1.5}, "nothing": null});
    NewRecord::new("attempts", &fields).unwrap().id("1").texts(&["log", "metrics", "nothing"])
}

fn with(change: impl FnOnce(&mut NewRecord)) -> NewRecord {
    let mut new = attempt(1);
    change(&mut new);
    new
}

/// A line that replaces none, and may be forgotten after this.
fn line(expires_after: Option<Duration>) -> NewRecord {
    NewRecord { expires_after, ..NewRecord::new("lines", &json!({"message": "late"})).unwrap() }
}

fn hour() -> Duration {
    Duration::from_secs(3600)
}

/// A run of this workflow that is worked on.
fn running(workflow: &str) -> World {
    play(&format!("09:00 bot starts r1 {workflow}\n09:00 system claims node=n1"))
}

/// Keeps records under a key; says what came of it.
fn keep(world: &mut World, key: &str, payload: &str, records: Vec<NewRecord>) -> Result<EntryState, Refusal> {
    let entry = NewEntry {
        key: key.parse().unwrap(),
        kind: EntryKind::Event,
        ordinal: 1,
        input: None,
        agent_id: None,
        began_at: time("09:01"),
    };
    let write = Write::Emit { kind: "release.tested".to_owned(), payload: payload.to_owned(), records };
    let recording = JournalWrite { run: "r1".parse().unwrap(), fence: Fence::Epoch(1), entry, write };
    match world.execute(Actor::System, run::Action::Record(Box::new(recording)), time("09:01"))? {
        Outcome::Entry(entry) | Outcome::Stands(entry) => Ok(entry.state),
        other => panic!("an entry was expected, and this came: {other:?}"),
    }
}

/// What is said to one record.
fn answer(record: NewRecord) -> String {
    match keep(&mut running("release@1"), "a", "{}", vec![record]) {
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
    for workflow in ["release@1", "debate@1"] {
        let mut world = running(workflow);
        keep(&mut world, "a", r#"{"round": 1}"#, vec![attempt(1), line(None)]).unwrap();
        let event = world.log.last().unwrap();
        let told: Value = serde_json::from_str(&event.fact.payload).unwrap();
        assert_eq!(told["round"], 1);
        let said = |note: &Value| {
            (note["collection"].clone(), note["id"].clone(), note["contents"].as_array().map_or(0, Vec::len))
        };
        let notes: Vec<_> = told["records"].as_array().unwrap().iter().map(said).collect();
        let line = json!(uuid(&["r1", "lines", &(event.fact.stream_seq * 1024 + 1).to_string()]));
        assert_eq!(notes, [(json!("attempts"), json!("1"), 2), (json!("lines"), line, 0)]);
        for (text, is_text) in [("built in round", true), ("seconds", true), ("builder", false), ("late", false)] {
            assert!(!event.fact.payload.contains(text), "{text} is in the log");
            let is_kept = world.artifacts.values().any(|content| String::from_utf8_lossy(content).contains(text));
            assert_eq!(is_kept, is_text, "{text}: fields go with their row, every text is an artifact");
        }
    }
}

#[test]
fn what_is_kept_is_known_when_it_is_said_again() {
    let mut world = running("release@1");
    let first = keep(&mut world, "a", "{}", vec![attempt(1)]).unwrap();
    let (log, kept) = (world.log.len(), world.kept.clone());
    assert_eq!(keep(&mut world, "a", "{}", vec![attempt(1)]), Ok(first));
    assert_eq!((world.log.len(), &world.kept), (log, &kept));
}

#[test]
fn what_is_kept_again_under_its_id_stands_instead_of_what_was_there() {
    let mut world = running("release@1");
    keep(&mut world, "a", "{}", vec![attempt(1)]).unwrap();
    keep(&mut world, "b", "{}", vec![attempt(2)]).unwrap();
    let rows: Vec<&Record> = world.kept["r1"].values().collect();
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((&row.fields["round"], row.texts["log"]), (&json!(2), Digest::of(b"built in round 2")));
    let run: RunId = "r1".parse().unwrap();
    let (record, events) = (world.run_record(&run), world.stream("run:r1"));
    assert_eq!(check_row("run:r1", Some(&record), &events), None);
    let before = Digest::of(b"built in round 1");
    assert!(!record.contents().contains(&before), "no row shows it");
    assert!(record.all_contents(&events).contains(&before), "it is still kept, and must go with the rest");
}

#[test]
fn a_row_that_somebody_changed_added_or_removed_is_found() {
    let mut world = running("release@1");
    keep(&mut world, "a", "{}", vec![attempt(1), line(None), line(Some(hour()))]).unwrap();
    let (run, events) = ("r1".parse::<RunId>().unwrap(), world.stream("run:r1"));
    let problem = |world: &World| check_row("run:r1", Some(&world.run_record(&run)), &events).map(|it| it.problem);
    assert_eq!(problem(&world), None);
    let changes: [fn(&mut Record); 4] = [
        |row| drop(row.fields.insert("round".to_owned(), json!(9))),
        |row| row.place += 1,
        |row| row.at = row.at.plus(Duration::from_secs(1)),
        |row| row.texts.extend([("log".to_owned(), Digest::of(b"forged"))]),
    ];
    for (key, row) in &world.kept["r1"] {
        let named = format!("in {} {}", key.0, key.1);
        for change in changes {
            let mut changed = world.clone();
            change(changed.kept.get_mut("r1").unwrap().get_mut(key).unwrap());
            assert!(problem(&changed).is_some_and(|said| said.ends_with(&named)), "{named} was changed");
        }
        let mut removed = world.clone();
        removed.kept.get_mut("r1").unwrap().remove(key);
        let fleeting = row.expires_at != Deadline::Never;
        assert_eq!(problem(&removed).is_some_and(|said| said.ends_with(&named)), !fleeting, "{named} was removed");
    }
    let mut added = world.clone();
    let key = ("attempts".to_owned(), "forged".to_owned());
    let mut forged = world.kept["r1"][&("attempts".to_owned(), "1".to_owned())].clone();
    forged.id.clone_from(&key.1);
    added.kept.get_mut("r1").unwrap().insert(key, forged);
    assert!(problem(&added).unwrap().contains("in attempts forged"));
}

#[test]
fn a_workflow_says_nothing_itself_of_what_is_kept() {
    let field = |answer| match answer {
        Err(Refusal::Invalid { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    for payload in ["[]", "1", ""] {
        assert_eq!(field(keep(&mut running("release@1"), "a", payload, vec![attempt(1)])), "payload", "{payload:?}");
        keep(&mut running("release@1"), "a", payload, Vec::new()).unwrap();
    }
    let forged = r#"{"records": [{"collection": "attempts", "id": "x", "digest": "sha256:00"}]}"#;
    assert_eq!(field(keep(&mut running("release@1"), "a", forged, Vec::new())), "payload");
    assert_eq!(field(keep(&mut running("release@1"), "a", forged, vec![attempt(1)])), "payload");
    let many = |n| (0..n).map(|_| attempt(1)).collect::<Vec<_>>();
    assert_eq!(field(keep(&mut running("release@1"), "a", "{}", many(RECORDS_MAX + 1))), "records");
    keep(&mut running("release@1"), "a", "{}", many(RECORDS_MAX)).unwrap();
}

#[test]
fn what_cannot_be_stored_is_refused() {
    let text = |len| "x".repeat(len);
    let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let field = |name: &str, value: Value| with(|new| drop(new.fields.insert(name.to_owned(), value)));
    let named = |name: &str, content: String| with(|new| drop(new.texts.insert(name.to_owned(), content)));
    let cases = [
        ("kept", named("log", text(TEXT_BYTES_MAX))),
        ("texts", named("log", text(TEXT_BYTES_MAX + 1))),
        ("texts", named("log", "a\0b".to_owned())),
        ("kept", named("log", String::new())),
        ("texts", named("Log", String::new())),
        ("kept", field("tags", json!(["a", true, null, {"b": 1}]))),
        ("fields", field("score", json!(1.5))),
        ("fields", field("tags", json!({"ü": 1}))),
        ("fields", field("tags", json!("\0"))),
        ("fields", field("tags", json!(text(FIELDS_BYTES_MAX)))),
        ("kept", field("tags", deep(63))),
        ("fields", field("tags", deep(64))),
        ("fields", field("log", json!(1))),
        ("fields", field("place", json!(1))),
        ("fields", field("no word", json!(1))),
        ("id", with(|new| new.id = Some(" ".to_owned()))),
        ("id", with(|new| new.id = Some(text(201)))),
        ("collection", with(|new| new.collection = "Attempts".to_owned())),
        ("collection", with(|new| new.collection.clear())),
        ("expires_after", line(Some(Duration::MAX))),
        ("kept", line(Some(hour()))),
    ];
    for (expected, record) in cases {
        let shown: String = format!("{record:?}").chars().take(200).collect();
        assert_eq!(answer(record), expected, "{shown}");
    }
    assert!(NewRecord::new("attempts", &json!([1])).is_err(), "fields are an object");
}

#[test]
fn what_is_kept_counts_as_what_the_run_has_written() {
    let mut world = play("09:00 bot starts r1 release@1 bytes=2000\n09:00 system claims node=n1");
    let long = || with(|new| drop(new.texts.insert("log".to_owned(), "x".repeat(1000))));
    let state = keep(&mut world, "a", "{}", vec![long()]).unwrap();
    assert!(matches!(state, EntryState::Done { bytes, .. } if bytes > 1000), "{state:?}");
    assert!(matches!(keep(&mut world, "b", "{}", vec![long()]), Err(Refusal::LimitExceeded { .. })));
}

#[test]
fn an_admin_corrects_a_text_once_the_run_is_over() {
    let mut world = running("release@1");
    keep(&mut world, "a", "{}", vec![attempt(1)]).unwrap();
    let record = world.kept["r1"][&("attempts".to_owned(), "1".to_owned())].clone();
    let correct = |world: &mut World, role, name: &str, text: &str| {
        let by = Actor::Principal(Principal::new("root".parse().unwrap(), role));
        let (name, text, reason) = (name.to_owned(), text.to_owned(), "a typo".to_owned());
        let correction = Correction { record: record.clone(), name, text, reason };
        let done = world.execute(by, run::Action::CorrectRecord(Box::new(correction)), time("09:05"));
        done.map(drop).map_err(|refusal| refusal.code())
    };
    assert_eq!(correct(&mut world, Role::Admin, "log", "built"), Err("content_in_use"));
    let by = Actor::Principal(Principal::new("root".parse().unwrap(), Role::Admin));
    world
        .execute(by, run::Action::Cancel { run: "r1".parse().unwrap(), reason: "over".to_owned() }, time("09:04"))
        .unwrap();
    for role in [Role::Reviewer, Role::Agent, Role::Viewer] {
        assert_eq!(correct(&mut world, role, "log", "built"), Err("role_may_not"));
    }
    assert_eq!(correct(&mut world, Role::Admin, "log", " "), Err("invalid"));
    assert_eq!(correct(&mut world, Role::Admin, "by", "built"), Err("invalid"));
    assert_eq!(correct(&mut world, Role::Admin, "log", "built"), Ok(()));
    let event = world.log.last().unwrap();
    assert_eq!(event.fact.kind, "custom.log_corrected");
    let told: Value = serde_json::from_str(&event.fact.payload).unwrap();
    assert_eq!((&told["log"], &told["reason"]), (&json!("1"), &json!("a typo")));
    let row = &world.kept["r1"][&("attempts".to_owned(), "1".to_owned())];
    assert_eq!(row.texts["log"], Digest::of(b"built"));
    let (record, events) = (world.run_record(&"r1".parse().unwrap()), world.stream("run:r1"));
    assert_eq!(check_row("run:r1", Some(&record), &events), None);
}

#[test]
fn a_note_that_cannot_be_read_is_a_broken_log() {
    let mut world = running("release@1");
    keep(&mut world, "a", "{}", vec![attempt(1)]).unwrap();
    let (record, mut events) = (world.run_record(&"r1".parse().unwrap()), world.stream("run:r1"));
    let last = events.last_mut().unwrap();
    last.fact.payload = last.fact.payload.replace("sha256:", "sha512:");
    let problem = audit::check_row("run:r1", Some(&record), &events).unwrap().problem;
    assert!(problem.contains("do not make a run"), "{problem}");
}
