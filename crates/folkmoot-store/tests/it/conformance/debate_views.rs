//! The tables of the design, as somebody with a database shell sees them.

use std::collections::BTreeSet;

use folkmoot_core::{
    Action, Actor, Command, Digest, Outcome, Scope,
    erase::{self, Erasure},
    gate::NewGate,
    journal::Fence,
    question::QuestionType,
    run::{self, Conclusion},
};
use folkmoot_debate::record::{DebateStatus, LessonQuery, VIEWS, uuid};
use folkmoot_store::{RunSummaryQuery, Store};
use serde_json::Value;

use super::debates::{lines_of, texts, versions_of};
use crate::support::*;

/// Where a debate is follows from its run, its gates and its questions, in the view as in the
/// store's answer.
pub(crate) async fn where_a_debate_is_follows_from_what_it_waits_for(world: &World<impl Place>) {
    let store = &*world.store;
    store.create_views(VIEWS).await.unwrap();
    let expect = async |run: &str, expected: DebateStatus| {
        assert_eq!(store.debate(&run_id(run)).await.unwrap().unwrap().status, expected, "{run}");
        let told = world.place.sql(&format!("SELECT status FROM debate_sessions WHERE debate_id = '{run}'")).await;
        assert_eq!(told, [[expected.word()]], "{run}");
        for of in DebateStatus::ALL.iter().copied() {
            let query = RunSummaryQuery { status: Some(of), limit: 100, ..RunSummaryQuery::default() };
            let listed = store.debates(query).await.unwrap().items;
            assert_eq!(listed.iter().any(|view| view.id.as_str() == run), of == expected, "{run} among the {of}");
        }
    };
    run_of(store.execute(start(debating("d1"))).await);
    expect("d1", DebateStatus::Pending).await;
    claimed_of(store.execute(claim("d1", "n1")).await);
    expect("d1", DebateStatus::Running).await;
    entry_of(store.execute(record("d1", 1, "gate", opens("g1"))).await);
    expect("d1", DebateStatus::Paused).await;
    let waiting = store.debate(&run_id("d1")).await.unwrap().unwrap().waiting_at;
    assert_eq!(waiting.map(|id| id.to_string()), Some("g1".to_owned()));
    run_of(store.execute(park(park_request("d1", 1, 0))).await);
    expect("d1", DebateStatus::Paused).await;
    gate_of(store.execute(approve(&"g1".parse().unwrap(), "alice")).await);
    expect("d1", DebateStatus::Running).await;
    assert_eq!(store.debate(&run_id("d1")).await.unwrap().unwrap().waiting_at, None);
    run_of(store.execute(cancel_run("d1")).await);
    expect("d1", DebateStatus::Cancelled).await;

    // What goes on beside a debate does not hold it.
    an_empty_debate(store, "d2").await;
    entry_of(store.execute(record("d2", 1, "beside", opens("g2"))).await);
    world.place.sql("UPDATE gates SET mode = 'reaction' WHERE id = 'g2'").await;
    expect("d2", DebateStatus::Running).await;
    // Nor does what somebody else has decided in its run.
    let of_agent = opened(store, NewGate { run_id: Some(run_id("d2")), ..new_gate() }).await;
    expect("d2", DebateStatus::Running).await;
    assert_eq!(store.debate(&run_id("d2")).await.unwrap().unwrap().waiting_at, None, "{}", of_agent.id);
    // Parked for nobody in particular, for an answer, for clearance, and stopped.
    run_of(store.execute(park(park_request("d2", 1, 0))).await);
    expect("d2", DebateStatus::Running).await;
    an_empty_debate(store, "d3").await;
    entry_of(store.execute(record("d3", 1, "ask", asks("q3", QuestionType::Preference))).await);
    expect("d3", DebateStatus::Running).await;
    run_of(store.execute(park(park_request("d3", 1, 0))).await);
    expect("d3", DebateStatus::Paused).await;
    question_of(store.execute(answer(&"q3".parse().unwrap(), "red")).await);
    expect("d3", DebateStatus::Running).await;
    an_empty_debate(store, "d4").await;
    halt_of(store.execute(raise(Scope::All)).await);
    run_of(store.execute(park(parking_held("d4", 1, 0, &["d4"]))).await);
    expect("d4", DebateStatus::Paused).await;
    an_empty_debate(store, "d5").await;
    run_of(store.execute(stop("d5", 1)).await);
    expect("d5", DebateStatus::Paused).await;
    run_of(store.execute(resume_run("d5")).await);
    expect("d5", DebateStatus::Pending).await;
    an_empty_debate(store, "d6").await;
    let conclusion = Conclusion::Failed { code: "budget".to_owned(), message: "spent".to_owned() };
    let fail = Action::Run(run::Action::End { run: run_id("d6"), fence: Fence::Epoch(1), conclusion });
    run_of(store.execute(command(Actor::System, fail)).await);
    expect("d6", DebateStatus::Failed).await;
    a_worked_on_run(store, "r1").await;
    assert_eq!(store.debate(&run_id("r1")).await, Ok(None), "another run is no debate");
}

/// The names of the design, and nothing else; times are microseconds and shares go from 0 to 1.
pub(crate) async fn the_views_are_the_tables_of_the_design(world: &World<impl Place>) {
    let store = &*world.store;
    store.create_views(VIEWS).await.unwrap();
    a_debate(store, "d1").await;
    entry_of(store.execute(keep("d1", "second", vec![session(2), version("d1", 2)])).await);
    run_of(store.execute(end("d1", 1, "[]")).await);
    let at = noon().as_micros().to_string();
    let expect = async |view: &str, expected: Vec<(&str, String)>| {
        let columns: Vec<_> = expected.iter().map(|(column, _)| *column).collect();
        let order = if view == "code_versions" { "ORDER BY version_number" } else { "" };
        let found = world.place.sql(&format!("SELECT * FROM {view} {order}")).await;
        let named = world.place.sql(&format!("SELECT {} FROM {view} {order}", columns.join(", "))).await;
        assert_eq!(found, named, "{view} has these columns in this order and no others");
        let values: Vec<String> = expected.into_iter().map(|(_, value)| value).collect();
        for (column, (value, expected)) in columns.iter().zip(found[0].iter().zip(&values)) {
            // PostgreSQL writes JSON with spaces.
            let same = match serde_json::from_str::<Value>(expected) {
                Ok(json) if !json.is_number() => serde_json::from_str::<Value>(value).is_ok_and(|value| value == json),
                _ => value == expected,
            };
            assert!(same, "{view}.{column} is {value:?} instead of {expected:?}");
        }
        assert_eq!(found[0].len(), values.len());
    };
    let s = str::to_owned;
    expect(
        "debate_sessions",
        vec![
            ("id", s("s1")),
            ("debate_id", s("d1")),
            ("topic", s("Which cache, and \"why\"?")),
            ("status", s("completed")),
            ("topology_type", s("graph_mesh")),
            ("coordination_protocol", s("cpde")),
            ("config", s(r#"{"max_rounds":3,"min_consensus":0.75}"#)),
            ("initiated_by", s("agent-a")),
            ("created_at", at.clone()),
            ("updated_at", at.clone()),
            ("completed_at", at.clone()),
            ("total_rounds", s("2")),
            ("final_consensus_score", s("0.81")),
            ("outcome", s(r#"{"rounds":2,"winner":"a"}"#)),
            ("metadata", s(r#"{"über":[true,null]}"#)),
        ],
    )
    .await;
    expect(
        "debate_turns",
        vec![
            ("id", uuid(&["d1", "turn", "1"])),
            ("session_id", s("s1")),
            ("round", s("1")),
            ("phase", s("proposal")),
            ("agent_id", s("proposer-1")),
            ("agent_role", s("proposer")),
            ("provider", s("rehearsal")),
            ("model", s("rehearsal-1")),
            ("content", s("Take number 1.")),
            ("confidence", s("0.7")),
            ("tool_calls", s(r#"[{"seconds":0.25,"tool":"search"}]"#)),
            ("test_results", s("")),
            ("reflections", s("[]")),
            ("metadata", s(r#"{"n":"1","prompt":"What is best?\n"}"#)),
            ("created_at", at.clone()),
            ("response_time_ms", s("1200")),
        ],
    )
    .await;
    expect(
        "code_versions",
        vec![
            ("id", uuid(&["d1", "version", "1"])),
            ("session_id", s("s1")),
            ("turn_id", uuid(&["d1", "turn", "1"])),
            ("language", s("python")),
            ("code", s("print(1)")),
            ("version_number", s("1")),
            ("quality_score", s("")),
            ("test_pass_rate", s("1")),
            ("metrics", s(r#"{"complexity":1.5}"#)),
            ("diff_from_previous", s("")),
            ("created_at", at.clone()),
        ],
    )
    .await;
    let line = store.record_rows(lines_of("d1").into()).await.unwrap().remove(0);
    expect(
        "debate_logs",
        vec![
            ("id", line.id),
            ("debate_id", s("d1")),
            ("level", s("warn")),
            ("message", s("warn: it is late")),
            ("data", s(r#"{"by":3}"#)),
            ("created_at", at),
            ("expires_at", s("")),
        ],
    )
    .await;
}

fn erase(text: &str) -> Command {
    let erasure = Erasure { digests: vec![Digest::of(text.as_bytes())], reason: "a key was in it".to_owned() };
    command(admin("root"), erase::Action::Erase(erasure))
}

pub(crate) async fn what_is_erased_is_in_no_view_and_a_live_debate_needs_its_texts(world: &World<impl Place>) {
    let store = &*world.store;
    store.create_views(VIEWS).await.unwrap();
    a_debate(store, "d1").await;
    let config = r#"{"max_rounds":3,"min_consensus":0.75}"#;
    let shown =
        ["Take number 1.", "print(1)", "Which cache, and \"why\"?", config, "test the empty list first (d1, 1)"];
    for text in shown {
        assert_eq!(store.needed_by(Digest::of(text.as_bytes())).await, Ok(Some("d1".to_owned())), "{text}");
    }
    assert_eq!(store.needed_by(Digest::of(b"Take number 2.")).await, Ok(None));
    run_of(store.execute(end("d1", 1, "[]")).await);
    for text in shown {
        assert_eq!(store.needed_by(Digest::of(text.as_bytes())).await, Ok(None), "{text}");
        assert_eq!(store.execute(erase(text)).await, Ok(Outcome::Erased(vec![Digest::of(text.as_bytes())])));
    }
    assert_eq!(texts(store, "d1").await, ["erased"]);
    assert_eq!(store.versions(versions_of("d1")).await.unwrap()[0].code, None);
    let view = store.debate(&run_id("d1")).await.unwrap().unwrap();
    assert_eq!((view.topic, view.session.unwrap().config, view.status), (None, None, DebateStatus::Completed));
    let lessons = store.lessons(LessonQuery { limit: 9, ..LessonQuery::default() }).await;
    assert_eq!(lessons, Ok(Vec::new()), "what says nothing teaches nothing");
    let rows = "SELECT (SELECT count(*) FROM debate_turns WHERE content IS NULL), (SELECT count(*) FROM code_versions
        WHERE code IS NULL), (SELECT count(*) FROM debate_sessions WHERE topic IS NULL AND config IS NULL)";
    assert_eq!(world.place.sql(rows).await, [["1", "1", "1"]]);
    assert_sound(store).await;
    // Said again by another debate it is kept for its run, and shown to nobody.
    an_empty_debate(store, "d2").await;
    entry_of(store.execute(keep("d2", "first", vec![turn("d2", "1")])).await);
    assert_eq!(texts(store, "d2").await, ["erased"]);
    assert_eq!(store.recorded(vec![Digest::of(b"Take number 1.")]).await, Ok(vec![Some(b"Take number 1.".to_vec())]));
    assert_sound(store).await;
}

pub(crate) async fn a_row_that_was_changed_added_or_removed_is_found(world: &World<impl Place>) {
    let store = &*world.store;
    a_debate(store, "d1").await;
    assert_eq!(problems(store).await, []);
    let replace = |collection: &str, column: &str, one: &str, other: &str| {
        let set = format!("UPDATE records SET {column} = replace({column}, '{one}', '{other}')");
        format!("{set} WHERE collection = '{collection}'")
    };
    let change = |collection: &str, column: &str, one: &str, other: &str| {
        (replace(collection, column, one, other), replace(collection, column, other, one))
    };
    let (topic, forged) = (Digest::of("Which cache, and \"why\"?".as_bytes()), Digest::of(b"forged"));
    let add = |by: &str| format!("UPDATE records SET created_at = created_at {by} 1 WHERE collection = 'debate_turns'");
    let tricks = [
        (change("debate_sessions", "fields", "\"total_rounds\":1", "\"total_rounds\":9"), "debate_sessions session"),
        (change("debate_sessions", "texts", &topic.to_string(), &forged.to_string()), "debate_sessions session"),
        (change("debate_turns", "fields", "\"confidence\":70", "\"confidence\":99"), "debate_turns"),
        (change("debate_turns", "fields", "proposer-1", "critic-1"), "debate_turns"),
        ((add("+"), add("-")), "debate_turns"),
        (change("debate_turns", "fields", "\"phase\":\"proposal\"", "\"phase\":\"review\""), "debate_turns"),
        (change("debate_turns", "fields", "{\"agent", "[\"agent"), "expected"),
        (
            change("code_versions", "fields", "\"test_pass_rate\":100", "\"test_pass_rate\":1"),
            "code_versions 0000000001",
        ),
        (
            change("code_versions", "id", "0000000001", "0000000002"),
            "code_versions 0000000001, code_versions 0000000002",
        ),
        (change("lessons", "fields", "\"confidence\":90", "\"confidence\":1.5"), "lessons"),
        (change("debate_logs", "fields", "it is late", "in time"), "debate_logs"),
        (
            (
                "INSERT INTO records SELECT run_id, collection, 'forged', place, fields, texts, created_at, expires_at
                 FROM records WHERE collection = 'debate_turns'"
                    .to_owned(),
                "DELETE FROM records WHERE id = 'forged'".to_owned(),
            ),
            "debate_turns forged",
        ),
        (change("debate_turns", "run_id", "d1", "d9"), "debate_turns"),
    ];
    for ((trick, undo), found) in tricks {
        world.place.sql(&trick).await;
        let told = problems(store).await;
        assert!(told.iter().any(|it| it.at == "run:d1" && it.problem.contains(found)), "{trick}: {told:?}");
        let strays = store.strays(10).await.unwrap();
        assert_eq!(strays, if trick.contains("d9") { vec!["d9".to_owned()] } else { Vec::new() }, "{trick}");
        world.place.sql(&undo).await;
        assert_eq!(problems(store).await, [], "{undo}");
    }
    let mut found = BTreeSet::new();
    for collection in ["debate_sessions", "debate_turns", "code_versions", "debate_logs", "lessons"] {
        world.place.sql(&format!("DELETE FROM records WHERE collection = '{collection}'")).await;
        let told = problems(store).await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(found.insert(told[0].problem.clone()), "{collection} is missing, and that is not told: {told:?}");
    }
}
