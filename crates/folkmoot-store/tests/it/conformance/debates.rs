use std::time::Duration;

use folkmoot_core::{
    Deadline, NewRecord, RecordQuery,
    journal::Write,
    run::{self, NewRun},
};
use folkmoot_debate::{
    AgentRole, DebatePhase, Domain,
    record::{DebateRecord, DebateStatus, LessonQuery, LessonView, LineQuery, LogLevel, TurnQuery, VersionQuery, uuid},
};
use folkmoot_store::{RunSummaryQuery, Store};
use serde_json::json;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3600);

pub(crate) async fn texts(store: &impl Store, run: &str) -> Vec<String> {
    let turns = store.turns(turns_of(run)).await.unwrap();
    turns.into_iter().map(|view| view.content.unwrap_or_else(|| "erased".to_owned())).collect()
}

pub(crate) fn versions_of(run: &str) -> VersionQuery {
    VersionQuery { debate: run_id(run), after: None, limit: 100 }
}

pub(crate) fn lines_of(run: &str) -> LineQuery {
    LineQuery { debate: run_id(run), level: None, after: None, limit: 100 }
}

/// Whatever a debate keeps reads back, and so does a debate that has kept nothing.
pub(crate) async fn what_a_debate_keeps_reads_back(store: &impl Store) {
    run_of(store.execute(start(debating("d1"))).await);
    let view = store.debate(&run_id("d1")).await.unwrap().unwrap();
    assert_eq!(
        (view.status, view.topic.as_deref(), &view.session),
        (DebateStatus::Pending, Some("Which cache?"), &None)
    );
    assert_eq!((view.initiated_by, view.created_at, view.completed_at), (name("agent-a"), noon(), None));
    claimed_of(store.execute(claim("d1", "n1")).await);
    let records =
        vec![session(1), turn("d1", "1"), version("d1", 1), line(LogLevel::Warn, Some(HOUR)), lesson("d1", "1")];
    entry_of(store.execute(keep("d1", "first", records)).await);
    entry_of(store.execute(keep("d1", "second", vec![session(2), version("d1", 2)])).await);

    let view = store.debate(&run_id("d1")).await.unwrap().unwrap();
    assert_eq!((view.status, view.session_id.as_str()), (DebateStatus::Running, "s1"));
    assert_eq!(view.topic.as_deref(), Some("Which cache, and \"why\"?"));
    let said = view.session.unwrap();
    assert_eq!(said.config, Some(json!({"max_rounds": 3, "min_consensus": 0.75})));
    assert_eq!(said.outcome, Some(json!({"winner": "a", "rounds": 2})));
    assert_eq!(said.metadata, Some(json!({"über": [true, null]})));
    assert_eq!((said.topology.as_str(), said.coordination_protocol.as_str()), ("graph_mesh", "cpde"));
    assert_eq!((said.total_rounds, said.final_consensus_score), (2, Some(share(81))));

    let turns = store.turns(turns_of("d1")).await.unwrap();
    let [view] = turns.as_slice() else { panic!("one turn was expected: {turns:?}") };
    assert_eq!(view.content.as_deref(), Some("Take number 1."));
    assert_eq!(view.tool_calls, Some(json!([{"tool": "search", "seconds": 0.25}])));
    assert_eq!((&view.test_results, &view.reflections), (&None, &Some(json!([]))));
    assert_eq!(view.metadata, Some(json!({"prompt": "What is best?\n", "n": "1"})));
    let row = view;
    assert_eq!((row.id.as_str(), row.round), (uuid(&["d1", "turn", "1"]).as_str(), 1));
    assert_eq!(
        (row.phase, &row.agent_id, row.agent_role),
        (DebatePhase::Proposal, &name("proposer-1"), AgentRole::Proposer)
    );
    assert_eq!((row.provider.as_str(), row.model.as_str()), ("rehearsal", "rehearsal-1"));
    assert_eq!((row.confidence, row.response_time_ms, row.at), (Some(share(70)), 1200, noon()));
    assert_eq!(store.turn("d1", &row.id).await, Ok(Some(view.clone())));
    assert_eq!(store.turn("d1", "no such turn").await, Ok(None));

    let versions = store.versions(versions_of("d1")).await.unwrap();
    let said: Vec<_> = versions
        .iter()
        .map(|view| (view.version_number, view.code.as_deref(), view.diff_from_previous.as_deref()))
        .collect();
    assert_eq!(said, [(1, Some("print(1)"), None), (2, Some("print(2)"), Some("+print(2)"))]);
    assert_eq!((versions[0].quality_score, versions[0].test_pass_rate), (None, Some(share(100))));
    assert_eq!(versions[0].metrics, Some(json!({"complexity": 1.5})));
    assert_eq!(versions[0].turn_id, Some(uuid(&["d1", "turn", "1"])));
    let after = store.versions(VersionQuery { after: Some(1), ..versions_of("d1") }).await.unwrap();
    assert_eq!(after, &versions[1..]);

    let lines = store.debate_log(lines_of("d1")).await.unwrap();
    let [kept] = lines.as_slice() else { panic!("one line was expected: {lines:?}") };
    assert_eq!(
        (kept.level, kept.message.as_str(), &kept.data),
        (LogLevel::Warn, "warn: it is late", &Some(json!({"by": 3})))
    );
    let rows = store.record_rows(lines_of("d1").into()).await.unwrap();
    assert_eq!(rows[0].expires_at, Deadline::At(noon().plus(HOUR)));

    let lessons = store.lessons(LessonQuery { limit: 9, ..LessonQuery::default() }).await.unwrap();
    let [view] = lessons.as_slice() else { panic!("one lesson was expected: {lessons:?}") };
    assert_eq!(
        (view.lesson.as_str(), view.root_cause.as_deref()),
        ("test the empty list first (d1, 1)", Some("no test for the empty list (d1, 1)"))
    );
    assert_eq!((view.run_id.as_str(), view.domain, view.confidence), ("d1", Domain::Code, share(90)));
    assert_eq!(
        (view.language.as_deref(), &view.tags[..]),
        (Some("python"), &["tests".to_owned(), "lists".to_owned()][..])
    );

    run_of(store.execute(end("d1", 1, "[]")).await);
    let view = store.debate(&run_id("d1")).await.unwrap().unwrap();
    assert_eq!((view.status, view.completed_at), (DebateStatus::Completed, Some(noon())));
    assert_sound(store).await;
}

pub(crate) async fn the_same_record_twice_keeps_one_row_within_a_batch_too(store: &impl Store) {
    an_empty_debate(store, "d1").await;
    let first = || keep("d1", "first", vec![session(1), turn("d1", "1"), line(LogLevel::Info, None)]);
    let second = keep("d1", "second", vec![session(2), turn("d1", "1"), version("d1", 1), version("d1", 1)]);
    for answer in at_once(store, [first(), first(), second, first()]).await {
        entry_of(answer);
    }
    assert_eq!(texts(store, "d1").await, ["Take number 1."]);
    assert_eq!(store.versions(versions_of("d1")).await.unwrap().len(), 1);
    assert_eq!(store.debate_log(lines_of("d1")).await.unwrap().len(), 1);
    let view = store.debate(&run_id("d1")).await.unwrap().unwrap();
    assert_eq!(view.session.unwrap().total_rounds, 2, "the last one stands");
    let told = all_events(store).await.iter().filter(|event| event.fact.kind == "debate.turn").count();
    assert_eq!(told, 2);
    assert_sound(store).await;
}

pub(crate) async fn what_is_refused_keeps_nothing(store: &impl Store) {
    an_empty_debate(store, "d1").await;
    let before = store.head().await.unwrap();
    let mut nul = NewRecord::try_from(turn("d1", "1")).unwrap();
    nul.texts.insert("metadata".to_owned(), "\0".to_owned());
    let Write::Emit { kind, payload, mut records } = kept(vec![turn("d1", "2")]) else { unreachable!("it emits") };
    records.push(nul);
    let bad = record("d1", 1, "first", Write::Emit { kind, payload, records });
    assert_eq!(refusal_of(store.execute(bad).await).code(), "invalid");
    let stale = record("d1", 7, "first", kept(vec![turn("d1", "1")]));
    assert_eq!(refusal_of(store.execute(stale).await).code(), "lease_lost");
    assert_eq!(store.head().await.unwrap(), before);
    assert_eq!(texts(store, "d1").await, Vec::<String>::new());
    entry_of(store.execute(keep("d1", "first", vec![turn("d1", "1")])).await);
    assert_eq!(texts(store, "d1").await, ["Take number 1."]);
    assert_sound(store).await;
}

pub(crate) async fn each_filter_narrows_the_turns_and_the_lines(store: &impl Store) {
    an_empty_debate(store, "d1").await;
    a_debate(store, "d2").await;
    for n in 0..6_u32 {
        let mut said = plain_turn("d1", &n.to_string());
        said.round = n / 3;
        said.phase = if n % 2 == 0 { DebatePhase::Proposal } else { DebatePhase::Critique };
        said.agent_id = name(if n < 4 { "proposer-1" } else { "critic-1" });
        let level = LogLevel::ALL[n as usize % 4];
        entry_of(
            store
                .execute(keep("d1", &format!("turn-{n}"), vec![DebateRecord::Turn(Box::new(said)), line(level, None)]))
                .await,
        );
    }
    let numbers = async |query| -> Vec<String> {
        let turns = store.turns(query).await.unwrap();
        turns.into_iter().map(|view| view.metadata.unwrap()["n"].as_str().unwrap().to_owned()).collect()
    };
    let all = turns_of("d1");
    assert_eq!(numbers(all.clone()).await, ["0", "1", "2", "3", "4", "5"]);
    let critique = TurnQuery { phase: Some(DebatePhase::Critique), ..all.clone() };
    assert_eq!(numbers(critique).await, ["1", "3", "5"]);
    let critic = TurnQuery { agent: Some(name("critic-1")), ..all.clone() };
    assert_eq!(numbers(critic.clone()).await, ["4", "5"]);
    assert_eq!(numbers(TurnQuery { round: Some(1), ..all.clone() }).await, ["3", "4", "5"]);
    let both = TurnQuery { phase: Some(DebatePhase::Proposal), round: Some(1), ..critic };
    assert_eq!(numbers(both).await, ["4"]);
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = store.turns(TurnQuery { after, limit: 2, ..all.clone() }).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.place);
        seen.extend(page.into_iter().map(|view| view.id));
    }
    assert_eq!(seen, (0..6).map(|n| uuid(&["d1", "turn", &n.to_string()])).collect::<Vec<_>>());
    let levels = async |query| -> Vec<LogLevel> {
        store.debate_log(query).await.unwrap().into_iter().map(|line| line.level).collect()
    };
    use LogLevel::*;
    assert_eq!(levels(lines_of("d1")).await, [Debug, Info, Warn, Error, Debug, Info]);
    assert_eq!(levels(LineQuery { level: Some(Warn), ..lines_of("d1") }).await, [Warn, Error]);
    let first = store.debate_log(LineQuery { limit: 4, ..lines_of("d1") }).await.unwrap();
    let rest = LineQuery { after: first.last().map(|line| line.place), ..lines_of("d1") };
    assert_eq!(levels(rest).await, [Debug, Info]);
}

pub(crate) async fn paging_visits_every_debate_once(world: &World<impl Place>) {
    let store = &*world.store;
    for n in 0..7 {
        let by = if n % 2 == 0 { "agent-a" } else { "agent-b" };
        let debate = NewRun { session_id: None, ..debating(&format!("d{n}")) };
        run_of(store.execute(command(agent(by), run::Action::Start(Box::new(debate)))).await);
        run_of(store.execute(start(new_run(&format!("r{n}")))).await);
        if n < 5 {
            world.clock.advance(Duration::from_millis(1));
        }
    }
    for (initiated_by, expected) in [(None, vec![6, 5, 4, 3, 2, 1, 0]), (Some("agent-b"), vec![5, 3, 1])] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let initiated_by = initiated_by.map(name);
            let status = Some(DebateStatus::Pending);
            let query = RunSummaryQuery { status, initiated_by, after, limit: 2, ..RunSummaryQuery::default() };
            let page = store.debates(query).await.unwrap();
            seen.extend(page.items.into_iter().map(|view| view.id.to_string()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected.iter().map(|n| format!("d{n}")).collect::<Vec<_>>());
    }
}

pub(crate) async fn lines_are_forgotten_when_their_time_is_over(world: &World<impl Place>) {
    let store = &*world.store;
    an_empty_debate(store, "d1").await;
    let spans = [None, Some(HOUR), Some(HOUR * 2), Some(HOUR), Some(HOUR)];
    let lines = spans.map(|span| line(LogLevel::Info, span));
    entry_of(store.execute(keep("d1", "first", lines.to_vec())).await);
    let count = async || store.debate_log(lines_of("d1")).await.unwrap().len();
    assert_eq!(store.forget_records(noon(), 10).await, Ok(0));
    world.clock.advance(HOUR);
    let now = noon().plus(HOUR);
    assert_eq!((store.forget_records(now, 2).await, count().await), (Ok(2), 3));
    assert_eq!((store.forget_records(now, 2).await, count().await), (Ok(1), 2));
    assert_eq!((store.forget_records(now, 2).await, count().await), (Ok(0), 2));
    assert_sound(store).await;
    assert_eq!(store.forget_records(now.plus(HOUR * 9999), 10).await, Ok(1), "one is kept for ever");
    assert_sound(store).await;
}

pub(crate) async fn lessons_come_newest_first(world: &World<impl Place>) {
    let store = &*world.store;
    for n in 0..5_u32 {
        let (run, by) = (format!("d{n}"), if n == 3 { "agent-b" } else { "agent-a" });
        run_of(store.execute(command(agent(by), run::Action::Start(Box::new(debating(&run))))).await);
        claimed_of(store.execute(claim(&run, "n1")).await);
        let DebateRecord::Lesson(mut learned) = lesson(&run, "1") else { unreachable!("it is a lesson") };
        learned.domain = if n == 1 { Domain::Security } else { Domain::Code };
        entry_of(store.execute(keep(&run, "first", vec![DebateRecord::Lesson(learned)])).await);
        world.clock.advance(Duration::from_secs(1));
    }
    let debates = async |domain, by: Option<&str>, limit| -> Vec<String> {
        let query = LessonQuery { id: None, domain, rehearsed: None, limit };
        let query = RecordQuery { initiated_by: by.map(name), ..query.into() };
        read::<LessonView>(store, query).await.unwrap().into_iter().map(|view| view.run_id.to_string()).collect()
    };
    assert_eq!(debates(None, None, 9).await, ["d4", "d3", "d2", "d1", "d0"]);
    assert_eq!(debates(None, None, 2).await, ["d4", "d3"]);
    assert_eq!(debates(Some(Domain::Security), None, 9).await, ["d1"]);
    assert_eq!(debates(Some(Domain::Code), Some("agent-a"), 9).await, ["d4", "d2", "d0"]);
}

pub(crate) async fn a_debate_is_there_after_a_restart(world: World<impl Place>) {
    a_debate(&*world.store, "d1").await;
    let before = world.store.debate(&run_id("d1")).await.unwrap();
    let turns = world.store.turns(turns_of("d1")).await.unwrap();
    let world = world.reopened().await;
    let store = &*world.store;
    assert_eq!(store.debate(&run_id("d1")).await, Ok(before));
    assert_eq!(store.turns(turns_of("d1")).await, Ok(turns));
    // What was recorded stands, and it goes on.
    entry_of(store.execute(keep("d1", "first", vec![turn("d1", "2")])).await);
    entry_of(store.execute(keep("d1", "second", vec![turn("d1", "3")])).await);
    assert_eq!(texts(store, "d1").await, ["Take number 1.", "Take number 3."]);
    assert_sound(store).await;
}
