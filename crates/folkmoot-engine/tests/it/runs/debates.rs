//! What a debate keeps is kept once, whatever happens meanwhile, and is read by whoever may know of
//! it.

use std::{sync::Arc, time::Duration};

use folkmoot_core::{
    Digest, Principal, RecordQuery, RecordView, Refusal, Role, RunId, Timeout, erase::Erasure, run::RunKind,
};
use folkmoot_debate::{
    AgentRole, DebatePhase, Domain,
    agent::Share,
    record::{
        DebateRecord, DebateStatus, DebateView, LessonQuery, LessonRecord, LessonView, LineQuery, LineView, LogLevel,
        LogLine, SessionRecord, TurnQuery, TurnRecord, TurnView, VersionQuery, VersionRecord, VersionView,
        session_query, turn_query, uuid,
    },
};
use folkmoot_engine::{
    Ctx, Engine, EngineSettings, Error, Failure, GateSpec, Page, Retention, RunSummaryQuery, TokioHost, Workflows,
    sim::{self, Crash, Scenario},
};
use folkmoot_store::{AnyStore, Postgres};
use serde_json::{Value, json};

use super::{House, start};
use crate::moot::{agent, alice, empty_schema, principal};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// What the workflow of debates reads of an engine.
trait DebateEngine {
    async fn debates(&self, by: &Principal, query: RunSummaryQuery) -> Result<Page<DebateView>, Error>;
    async fn debate(&self, by: &Principal, id: &RunId) -> Result<DebateView, Error>;
    async fn turns(&self, by: &Principal, query: TurnQuery) -> Result<Vec<TurnView>, Error>;
    async fn turn(&self, by: &Principal, debate: &RunId, id: &str) -> Result<Option<TurnView>, Error>;
    async fn versions(&self, by: &Principal, query: VersionQuery) -> Result<Vec<VersionView>, Error>;
    async fn debate_log(&self, by: &Principal, query: LineQuery) -> Result<Vec<LineView>, Error>;
    async fn lessons(&self, by: &Principal, query: LessonQuery) -> Result<Vec<LessonView>, Error>;
}

impl DebateEngine for Engine {
    async fn debates(&self, by: &Principal, query: RunSummaryQuery) -> Result<Page<DebateView>, Error> {
        let page = self.run_summaries(by, RunSummaryQuery { kind: Some(RunKind::Debate), ..query }).await?;
        let mut items = Vec::new();
        for run in page.items {
            let said = read(self, by, session_query(vec![run.id.clone()])).await?.pop();
            items.push(DebateView::new(run, said));
        }
        Ok(Page { items, next: page.next })
    }

    async fn debate(&self, by: &Principal, id: &RunId) -> Result<DebateView, Error> {
        let query = RunSummaryQuery { id: Some(id.clone()), limit: 1, ..RunSummaryQuery::default() };
        let found = self.debates(by, query).await?.items.pop();
        Ok(found.ok_or_else(|| Refusal::UnknownRun { run: id.clone() })?)
    }

    async fn turns(&self, by: &Principal, query: TurnQuery) -> Result<Vec<TurnView>, Error> {
        self.debate(by, &query.debate).await?;
        read(self, by, query.into()).await
    }

    async fn turn(&self, by: &Principal, debate: &RunId, id: &str) -> Result<Option<TurnView>, Error> {
        self.debate(by, debate).await?;
        Ok(read(self, by, turn_query(debate.clone(), vec![id.to_owned()])).await?.pop())
    }

    async fn versions(&self, by: &Principal, query: VersionQuery) -> Result<Vec<VersionView>, Error> {
        self.debate(by, &query.debate).await?;
        read(self, by, query.into()).await
    }

    async fn debate_log(&self, by: &Principal, query: LineQuery) -> Result<Vec<LineView>, Error> {
        self.debate(by, &query.debate).await?;
        read(self, by, query.into()).await
    }

    async fn lessons(&self, by: &Principal, query: LessonQuery) -> Result<Vec<LessonView>, Error> {
        read(self, by, query.into()).await
    }
}

async fn read<T: TryFrom<RecordView, Error = serde_json::Error>>(
    engine: &Engine,
    by: &Principal,
    query: RecordQuery,
) -> Result<Vec<T>, Error> {
    Ok(engine.records(by, query).await?.into_iter().map(|view| T::try_from(view).unwrap()).collect())
}

fn session(rounds: u32) -> DebateRecord {
    DebateRecord::Session(SessionRecord {
        topic: "Which cache?".to_owned(),
        topology: "star".to_owned(),
        coordination_protocol: "adaptive".to_owned(),
        config: json!({"max_rounds": 2}),
        total_rounds: rounds,
        final_consensus_score: (rounds == 2).then_some(Share::ONE),
        outcome: (rounds > 0).then(|| json!({"winner": format!("round {rounds}")})),
        metadata: Value::Null,
    })
}

fn turn(run: &RunId, round: u32, agent: u32, content: String) -> DebateRecord {
    DebateRecord::Turn(Box::new(TurnRecord {
        id: uuid(&[run.as_str(), "turn", &round.to_string(), &agent.to_string()]),
        round,
        phase: DebatePhase::Proposal,
        agent_id: format!("proposer-{agent}").parse().unwrap(),
        agent_role: AgentRole::Proposer,
        provider: "openai".to_owned(),
        model: "rehearsal-1".to_owned(),
        content,
        confidence: Some(Share::CONFIDENCE),
        tool_calls: Value::Null,
        test_results: Value::Null,
        reflections: Value::Null,
        metadata: json!({"seconds": 0.5}),
        response_time_ms: 500,
    }))
}

fn version(run: &RunId, number: u32) -> DebateRecord {
    DebateRecord::Version(Box::new(VersionRecord {
        id: uuid(&[run.as_str(), "version", &number.to_string()]),
        turn_id: None,
        language: "rust".to_owned(),
        code: format!("fn main() {{ cache({number}) }}"),
        version_number: number,
        quality_score: None,
        test_pass_rate: None,
        metrics: Value::Null,
        diff_from_previous: String::new(),
    }))
}

fn line(expires_after: Option<Duration>) -> DebateRecord {
    let data = Value::Null;
    DebateRecord::Line(LogLine { level: LogLevel::Info, message: "a round is over".to_owned(), data, expires_after })
}

fn lesson(run: &RunId) -> DebateRecord {
    DebateRecord::Lesson(LessonRecord {
        id: uuid(&[run.as_str(), "lesson"]),
        domain: Domain::Architecture,
        language: None,
        root_cause: "nobody measured".to_owned(),
        lesson: format!("measure first ({run})"),
        confidence: Share::CONFIDENCE,
        tags: Vec::new(),
        rehearsed: false,
    })
}

/// Two rounds with a gate between them; in each, three agents speak at once.
async fn debate(ctx: Ctx, expires_after: Option<Duration>) -> Result<Vec<String>, Failure> {
    let run = ctx.run_id().clone();
    ctx.keep("begun", "debate.begun", &json!({}), vec![session(0)]).await?;
    let mut all = Vec::new();
    for round in 1..=2 {
        let said = ctx.join(format!("round-{round}"), 1..=3_u32, |ctx, agent| {
            let run = run.clone();
            async move {
                let answer = format!("agent {agent} in round {round}");
                let content: String = ctx.step("speak", move || std::future::ready(Ok(answer.clone()))).await?;
                let told = json!({"round": round, "agent": agent});
                ctx.keep("turn", "debate.turn", &told, vec![turn(&run, round, agent, content.clone())]).await?;
                Ok(content)
            }
        });
        all.extend(said.await?);
        let records = vec![session(round), version(&run, round), line(expires_after)];
        ctx.keep(format!("over-{round}"), "debate.round", &json!({"round": round}), records).await?;
        if round == 1 {
            ctx.gate("go", GateSpec::new("Another round?").timeout(Timeout::Never)).await?;
        }
    }
    ctx.keep("learnt", "debate.learnt", &json!({}), vec![lesson(&run)]).await?;
    Ok(all)
}

fn workflows() -> Workflows {
    Workflows::new().with("debate@1", debate)
}

fn turns_of(debate: &RunId) -> TurnQuery {
    TurnQuery { debate: debate.clone(), phase: None, agent: None, round: None, after: None, limit: 100 }
}

fn versions_of(debate: &RunId) -> VersionQuery {
    VersionQuery { debate: debate.clone(), after: None, limit: 100 }
}

fn lines_of(debate: &RunId) -> LineQuery {
    LineQuery { debate: debate.clone(), level: None, after: None, limit: 100 }
}

/// The same data under an engine that erases what has been over for so long.
async fn retaining(house: &mut House, contents: Duration) {
    house.engine.close().await;
    let retention = Retention { contents: Some(contents), ..Retention::default() };
    house.engine =
        start(&house.store, EngineSettings { workflows: workflows(), retention, ..EngineSettings::default() }).await;
}

/// Waits until the debate is there.
async fn until(engine: &Engine, id: &RunId, status: DebateStatus) {
    for _ in 0..2000 {
        if engine.debate(&alice(), id).await.unwrap().status == status {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it stays {:?}", engine.run(&alice(), id).await.unwrap().state);
}

async fn approve(engine: &Engine, id: &RunId) {
    let gate = engine.debate(&alice(), id).await.unwrap().waiting_at.unwrap();
    let gate = engine.gate(&alice(), &gate).await.unwrap().gate;
    let review = folkmoot_core::gate::Review::on(&gate, folkmoot_core::gate::Choice::Approve, "so");
    engine.decide(alice().into(), review).await.unwrap();
}

#[test]
fn what_is_kept_is_kept_once_wherever_it_crashes() {
    let scenario = || Scenario::new(workflows(), "debate@1", None::<Duration>);
    let calm = sim::simulate(&scenario(), Crash::Never);
    assert_eq!(calm.outcome.unwrap().as_array().map(Vec::len), Some(6));
    let of = |noun: &str| calm.kept.iter().filter(|row| row.starts_with(noun)).count();
    assert_eq!(
        (of("debate_sessions"), of("debate_turns"), of("code_versions"), of("debate_logs"), of("lessons")),
        (1, 6, 2, 2, 1),
        "{:?}",
        calm.kept
    );
    assert!(
        calm.kept.iter().any(|row| row.starts_with("debate_sessions") && row.contains("round 2")),
        "{:?}",
        calm.kept
    );
    // Each compares what was kept with this, and with the log.
    assert!(sim::crash_everywhere(scenario).len() > 40);
    sim::untold_everywhere(scenario);
}

#[tokio::test]
async fn a_debate_goes_on_after_a_restart_and_has_lost_nothing() {
    let mut house = House::with(workflows()).await;
    let id = house.start("debate@1", &None::<Duration>).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    let before = house.engine.turns(&alice(), turns_of(&id)).await.unwrap();
    assert_eq!(before.len(), 3);
    house.restart(workflows()).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    assert_eq!(house.engine.turns(&alice(), turns_of(&id)).await.unwrap(), before);
    house.approve(&id).await;
    until(&house.engine, &id, DebateStatus::Completed).await;
    let turns = house.engine.turns(&alice(), turns_of(&id)).await.unwrap();
    assert_eq!((turns.len(), &turns[..3]), (6, &before[..]));
    let view = house.engine.debate(&alice(), &id).await.unwrap();
    let said = view.session.unwrap();
    assert_eq!((said.total_rounds, said.final_consensus_score), (2, Some(Share::ONE)));
    assert_eq!(said.outcome, Some(json!({"winner": "round 2"})));
    assert_eq!(house.engine.versions(&alice(), versions_of(&id)).await.unwrap().len(), 2);
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn a_replay_that_would_keep_something_else_stops() {
    async fn other(ctx: Ctx, _: Option<Duration>) -> Result<Vec<String>, Failure> {
        ctx.keep("begun", "debate.begun", &json!({}), vec![session(1)]).await?;
        Ok(Vec::new())
    }
    let mut house = House::with(workflows()).await;
    let id = house.start("debate@1", &None::<Duration>).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    house.restart(Workflows::new().with("debate@1", other)).await;
    house.approve(&id).await;
    let stopped = house.stopped(&id).await;
    assert!(
        stopped.starts_with("workflow_changed") && stopped.contains("step \"begun\" was given something else"),
        "{stopped}"
    );
    assert_eq!(house.engine.debate(&alice(), &id).await.unwrap().status, DebateStatus::Paused);
}

#[tokio::test]
async fn what_cannot_be_kept_is_a_failure_that_the_workflow_is_told_each_time() {
    async fn clumsy(ctx: Ctx, (): ()) -> Result<Vec<String>, Failure> {
        let run = ctx.run_id().clone();
        let mut said = Vec::new();
        let nul = vec![turn(&run, 1, 1, "fine".to_owned()), turn(&run, 1, 2, "a\0b".to_owned())];
        said.push(ctx.keep("nul", "debate.turn", &json!({}), nul).await.unwrap_err().to_string());
        let list = vec![turn(&run, 1, 1, "fine".to_owned())];
        said.push(ctx.keep("list", "debate.turn", &json!([]), list.clone()).await.unwrap_err().to_string());
        said.push(ctx.keep("ours", "gate.decided", &json!({}), list).await.unwrap_err().to_string());
        ctx.gate("go", GateSpec::new("Go on?")).await?;
        Ok(said)
    }
    let clumsy = || Workflows::new().with("debate@1", clumsy);
    let mut house = House::with(clumsy()).await;
    let id = house.start("debate@1", &()).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    assert_eq!(house.engine.turns(&alice(), turns_of(&id)).await.unwrap(), [], "all of it or nothing");
    house.restart(clumsy()).await;
    house.approve(&id).await;
    until(&house.engine, &id, DebateStatus::Completed).await;
    let said: Vec<String> = serde_json::from_value(house.outcome(&id).await.unwrap()).unwrap();
    for (said, about) in said.iter().zip(["content", "payload", "gate.decided"]) {
        assert!(said.contains(about), "{said}");
    }
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn an_agent_sees_its_own_debates_and_everybody_else_sees_all() {
    let house = House::with(workflows()).await;
    let id = house.start("debate@1", &None::<Duration>).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    house.approve(&id).await;
    until(&house.engine, &id, DebateStatus::Completed).await;
    let elf = principal("elf", Role::Agent);
    let all = || RunSummaryQuery { limit: 10, ..RunSummaryQuery::default() };
    let lessons = || LessonQuery { limit: 10, ..LessonQuery::default() };
    let first = house.engine.turns(&alice(), turns_of(&id)).await.unwrap().remove(0).id;
    for (who, sees) in [
        (agent(), true),
        (elf.clone(), false),
        (alice(), true),
        (principal("vera", Role::Viewer), true),
        (principal("root", Role::Admin), true),
    ] {
        let (engine, name) = (&house.engine, &who.name);
        assert_eq!(engine.debate(&who, &id).await.is_ok(), sees, "{name}");
        assert_eq!(engine.debates(&who, all()).await.unwrap().items.len(), usize::from(sees), "{name}");
        assert_eq!(engine.turns(&who, turns_of(&id)).await.is_ok(), sees, "{name}");
        assert_eq!(engine.turn(&who, &id, &first).await.is_ok_and(|turn| turn.is_some()), sees, "{name}");
        assert_eq!(engine.versions(&who, versions_of(&id)).await.is_ok(), sees, "{name}");
        assert_eq!(engine.debate_log(&who, lines_of(&id)).await.is_ok(), sees, "{name}");
        assert_eq!(engine.lessons(&who, lessons()).await.unwrap().len(), usize::from(sees), "{name}");
    }
    let refused = house.engine.debate(&elf, &id).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "unknown_run");
    // Who asks for everybody's is shown their own, and a turn of another debate is none of this
    // one.
    let everybodys = RunSummaryQuery { initiated_by: Some(agent().name), ..all() };
    assert_eq!(house.engine.debates(&elf, everybodys).await.unwrap().items, []);
    let other = house.start("debate@1", &None::<Duration>).await;
    assert_eq!(house.engine.turn(&alice(), &other, &first).await, Ok(None));
}

#[tokio::test]
async fn a_debate_is_shown_what_earlier_ones_learnt_and_always_the_same() {
    async fn pupil(ctx: Ctx, (): ()) -> Result<(Vec<RecordView>, Vec<RecordView>), Failure> {
        let query = LessonQuery { rehearsed: Some(false), limit: 5, ..LessonQuery::default() };
        let before = ctx.records("before", query.clone().into()).await?;
        ctx.gate("go", GateSpec::new("Go on?")).await?;
        let query = LessonQuery { domain: Some(Domain::Architecture), ..query };
        Ok((before, ctx.records("after", query.into()).await?))
    }
    let both = || workflows().with("pupil@1", pupil);
    let mut house = House::with(both()).await;
    let pupil = house.start("pupil@1", &()).await;
    let elves = house.engine.start_workflow(principal("elf", Role::Agent), "pupil@1", &()).await.unwrap().start.id;
    let teacher = house.start("debate@1", &None::<Duration>).await;
    until(&house.engine, &teacher, DebateStatus::Paused).await;
    house.approve(&teacher).await;
    until(&house.engine, &teacher, DebateStatus::Completed).await;
    house.restart(both()).await;
    let mut learnt = Vec::new();
    for id in [&pupil, &elves] {
        house.approve(id).await;
        let output = house.outcome(id).await.unwrap();
        learnt.push(serde_json::from_value::<(Vec<RecordView>, Vec<RecordView>)>(output).unwrap());
    }
    assert_eq!(learnt[0].0, [], "what was learnt later does not change what was answered");
    let [lesson] = learnt[0].1.as_slice() else { panic!("one lesson was expected: {learnt:?}") };
    assert_eq!(
        (&lesson.record.run_id, lesson.texts["lesson"].as_str()),
        (&teacher, format!("measure first ({teacher})").as_str())
    );
    assert_eq!(learnt[1], (Vec::new(), Vec::new()), "an agent learns from its own debates");
}

#[tokio::test]
async fn texts_go_when_they_are_old_and_no_live_debate_loses_any() {
    let mut house = House::with(workflows()).await;
    let id = house.start("debate@1", &None::<Duration>).await;
    until(&house.engine, &id, DebateStatus::Paused).await;
    let said = Digest::of(b"agent 1 in round 1");
    let erase = || Erasure { digests: vec![said], reason: "a key".to_owned() };
    let root = principal("root", Role::Admin);
    let refused = house.engine.erase(root.clone().into(), erase()).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().code(), "content_in_use");
    retaining(&mut house, DAY * 30).await;
    house.clock.advance(DAY * 40);
    assert_eq!(house.engine.retire().await, Ok(0), "it waits, and is not over");
    house.approve(&id).await;
    until(&house.engine, &id, DebateStatus::Completed).await;
    let erased = house.engine.erase(root.into(), erase()).await.unwrap();
    assert_eq!(erased.digests, [said]);
    let turns = house.engine.turns(&alice(), turns_of(&id)).await.unwrap();
    assert_eq!(turns.iter().filter(|view| view.content.is_none()).count(), 1);
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
    // What a debate said of itself before its last word goes with the rest.
    let superseded = Digest::of(br#"{"winner":"round 1"}"#);
    let is_kept = async |engine: &Engine| engine.contents(vec![superseded]).await.unwrap()[0].is_some();
    assert!(is_kept(&house.engine).await);
    house.clock.advance(DAY * 40);
    assert!(house.engine.retire().await.unwrap() > 6);
    assert!(!is_kept(&house.engine).await);
    let turns = house.engine.turns(&alice(), turns_of(&id)).await.unwrap();
    assert_eq!((turns.len(), turns.iter().filter(|view| view.content.is_some()).count()), (6, 0));
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn a_line_is_forgotten_when_its_time_is_over() {
    let mut house = House::with(workflows()).await;
    let passing = house.start("debate@1", &Some(DAY)).await;
    let lasting = house.start("debate@1", &None::<Duration>).await;
    for id in [&passing, &lasting] {
        until(&house.engine, id, DebateStatus::Paused).await;
        assert_eq!(house.engine.debate_log(&alice(), lines_of(id)).await.unwrap().len(), 1);
    }
    house.clock.advance(DAY * 2);
    house.restart(workflows()).await;
    for _ in 0..2000 {
        if house.engine.debate_log(&alice(), lines_of(&passing)).await.unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(house.engine.debate_log(&alice(), lines_of(&passing)).await.unwrap(), []);
    assert_eq!(house.engine.debate_log(&alice(), lines_of(&lasting)).await.unwrap().len(), 1);
    assert_eq!(house.engine.verify(&alice()).await.unwrap().problems, []);
}

#[tokio::test]
async fn on_postgresql_a_debate_is_kept_too_and_a_forged_row_is_found() {
    let Some(url) = empty_schema().await else { return };
    let store = AnyStore::Postgres(Postgres::open(&url, None).await.unwrap());
    let settings = EngineSettings { workflows: workflows(), ..EngineSettings::default() };
    let engine = Engine::start(store, settings, Arc::new(TokioHost)).await.unwrap();
    let id = engine.start_workflow(agent(), "debate@1", &Some(DAY)).await.unwrap().start.id;
    until(&engine, &id, DebateStatus::Paused).await;
    approve(&engine, &id).await;
    until(&engine, &id, DebateStatus::Completed).await;
    assert_eq!(engine.turns(&alice(), turns_of(&id)).await.unwrap().len(), 6);
    assert_eq!(engine.verify(&alice()).await.unwrap().problems, []);
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("UPDATE records SET fields = replace(fields, 'proposer-1', 'critic-9')").await.unwrap();
    client.batch_execute("UPDATE records SET run_id = 'ghost' WHERE collection = 'lessons'").await.unwrap();
    let told = engine.verify(&alice()).await.unwrap().problems;
    let found: Vec<_> = told.iter().map(|it| it.at.as_str()).collect();
    assert_eq!(found, [format!("run:{id}").as_str(), "run:ghost"], "{told:?}");
    assert!(told[0].problem.contains("debate_turns") && told[0].problem.contains("lessons"), "{told:?}");
}
