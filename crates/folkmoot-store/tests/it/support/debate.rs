//! Debates, and something for them to keep.

use std::time::Duration;

use folkmoot_core::{
    AgentRole, Command, DebatePhase, Domain,
    agent::Share,
    debate::record::{DebateRecord, LessonRecord, LogLevel, LogLine, SessionRecord, TurnRecord, VersionRecord, uuid},
    journal::Write,
    run::Starting,
};
use folkmoot_store::{Store, TurnQuery};
use serde_json::{Value, json};

use super::{claim, claimed_of, entry_of, name, record, run_id, run_of, start, starting, workflow};

/// A run of `debate@1` in session `s1`.
pub(crate) fn debating(run: &str) -> Starting {
    Starting { workflow: Some(workflow("debate@1")), title: "Which cache?".to_owned(), ..starting(run) }
}

/// A debate that is worked on by `n1` under claim 1, and has kept nothing yet.
pub(crate) async fn an_empty_debate(store: &impl Store, run: &str) {
    run_of(store.execute(start(debating(run))).await);
    claimed_of(store.execute(claim(run, "n1")).await);
}

/// The same, with one of everything that it can keep.
pub(crate) async fn a_debate(store: &impl Store, run: &str) {
    an_empty_debate(store, run).await;
    let records = vec![session(1), turn(run, "1"), version(run, 1), line(LogLevel::Warn, None), lesson(run, "1")];
    entry_of(store.execute(keep(run, "first", records)).await);
}

pub(crate) fn keep(run: &str, key: &str, records: Vec<DebateRecord>) -> Command {
    record(run, 1, key, kept(records))
}

pub(crate) fn kept(records: Vec<DebateRecord>) -> Write {
    Write::Emit { kind: "debate.turn".to_owned(), payload: r#"{"round": 1}"#.to_owned(), records }
}

pub(crate) fn share(hundredths: u8) -> Share {
    Share::hundredths(hundredths).unwrap()
}

pub(crate) fn session(rounds: u32) -> DebateRecord {
    DebateRecord::Session(SessionRecord {
        topic: "Which cache, and \"why\"?".to_owned(),
        topology: "graph_mesh".to_owned(),
        coordination_protocol: "cpde".to_owned(),
        config: json!({"max_rounds": 3, "min_consensus": 0.75}),
        total_rounds: rounds,
        final_consensus_score: (rounds > 1).then(|| share(81)),
        outcome: (rounds > 1).then(|| json!({"winner": "a", "rounds": rounds})),
        metadata: json!({"über": [true, null]}),
    })
}

pub(crate) fn turn(run: &str, n: &str) -> DebateRecord {
    DebateRecord::Turn(Box::new(plain_turn(run, n)))
}

pub(crate) fn plain_turn(run: &str, n: &str) -> TurnRecord {
    TurnRecord {
        id: uuid(&[run, "turn", n]),
        round: 1,
        phase: DebatePhase::Proposal,
        agent_id: name("proposer-1"),
        agent_role: AgentRole::Proposer,
        provider: "rehearsal".to_owned(),
        model: "rehearsal-1".to_owned(),
        content: format!("Take number {n}."),
        confidence: Some(share(70)),
        tool_calls: json!([{"tool": "search", "seconds": 0.25}]),
        test_results: Value::Null,
        reflections: json!([]),
        metadata: json!({"prompt": "What is best?\n", "n": n}),
        response_time_ms: 1200,
    }
}

pub(crate) fn version(run: &str, number: u32) -> DebateRecord {
    DebateRecord::Version(Box::new(VersionRecord {
        id: uuid(&[run, "version", &number.to_string()]),
        turn_id: Some(uuid(&[run, "turn", "1"])),
        language: "python".to_owned(),
        code: format!("print({number})"),
        version_number: number,
        quality_score: None,
        test_pass_rate: Some(share(100)),
        metrics: json!({"complexity": 1.5}),
        diff_from_previous: if number == 1 { String::new() } else { format!("+print({number})") },
    }))
}

pub(crate) fn line(level: LogLevel, expires_after: Option<Duration>) -> DebateRecord {
    DebateRecord::Line(LogLine {
        level,
        message: format!("{level}: it is late"),
        data: json!({"by": 3}),
        expires_after,
    })
}

pub(crate) fn lesson(run: &str, n: &str) -> DebateRecord {
    DebateRecord::Lesson(LessonRecord {
        id: uuid(&[run, "lesson", n]),
        domain: Domain::Code,
        language: Some("python".to_owned()),
        root_cause: format!("no test for the empty list ({run}, {n})"),
        lesson: format!("test the empty list first ({run}, {n})"),
        confidence: share(90),
        tags: vec!["tests".to_owned(), "lists".to_owned()],
    })
}

/// All turns of a debate.
pub(crate) fn turns_of(run: &str) -> TurnQuery {
    TurnQuery { debate: run_id(run), phase: None, agent: None, round: None, after: None, limit: 1000 }
}
