//! Debates, and something for them to keep.

use std::time::Duration;

use folkmoot_core::{
    Command, NewRecord, RecordQuery, RecordView, RunId,
    journal::Write,
    run::{NewRun, RunKind},
};
use folkmoot_debate::{
    AgentRole, DebatePhase, Domain,
    agent::Share,
    record::{
        DebateRecord, DebateView, LessonQuery, LessonRecord, LessonView, LineQuery, LineView, LogLevel, LogLine,
        SessionRecord, SessionView, TurnQuery, TurnRecord, TurnView, VersionQuery, VersionRecord, VersionView,
        session_query, turn_query, uuid,
    },
};
use folkmoot_store::{Error, Page, RunSummaryQuery, Store};
use serde_json::{Value, json};

use super::{claim, claimed_of, entry_of, name, new_run, record, run_id, run_of, start, workflow};

/// What the workflow of debates reads of a store.
pub(crate) trait DebateStore: Store {
    async fn debates(&self, query: RunSummaryQuery) -> Result<Page<DebateView>, Error> {
        let page = self.run_summaries(RunSummaryQuery { kind: Some(RunKind::Debate), ..query }).await?;
        let mut items = Vec::new();
        for run in page.items {
            let said = read::<SessionView>(self, session_query(vec![run.id.clone()])).await?.pop();
            items.push(DebateView::new(run, said));
        }
        Ok(Page { items, next: page.next })
    }

    async fn debate(&self, id: &RunId) -> Result<Option<DebateView>, Error> {
        let query = RunSummaryQuery { id: Some(id.clone()), limit: 1, ..RunSummaryQuery::default() };
        Ok(self.debates(query).await?.items.pop())
    }

    async fn turns(&self, query: TurnQuery) -> Result<Vec<TurnView>, Error> {
        read(self, query.into()).await
    }

    async fn turn(&self, debate: &str, id: &str) -> Result<Option<TurnView>, Error> {
        Ok(read(self, turn_query(run_id(debate), vec![id.to_owned()])).await?.pop())
    }

    async fn versions(&self, query: VersionQuery) -> Result<Vec<VersionView>, Error> {
        read(self, query.into()).await
    }

    async fn debate_log(&self, query: LineQuery) -> Result<Vec<LineView>, Error> {
        read(self, query.into()).await
    }

    async fn lessons(&self, query: LessonQuery) -> Result<Vec<LessonView>, Error> {
        read(self, query.into()).await
    }
}

impl<S: Store> DebateStore for S {}

pub(crate) async fn read<T: TryFrom<RecordView, Error = serde_json::Error>>(
    store: &(impl Store + ?Sized),
    query: RecordQuery,
) -> Result<Vec<T>, Error> {
    Ok(store.records(query).await?.into_iter().map(|view| T::try_from(view).unwrap()).collect())
}

/// A run of `debate@1` in session `s1`.
pub(crate) fn debating(run: &str) -> NewRun {
    NewRun { workflow: Some(workflow("debate@1")), title: "Which cache?".to_owned(), ..new_run(run) }
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
    let records = records.into_iter().map(|record| NewRecord::try_from(record).unwrap()).collect();
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
        rehearsed: true,
    })
}

/// All turns of a debate.
pub(crate) fn turns_of(run: &str) -> TurnQuery {
    TurnQuery { debate: run_id(run), phase: None, agent: None, round: None, after: None, limit: 1000 }
}
