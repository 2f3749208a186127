//! A workflow with everything in it gives the same outcome wherever it is crashed.

use std::{collections::BTreeSet, path::Path, time::Duration};

use folkmoot_core::{
    GateStatus, Role,
    gate::{Choice, Review},
    question::{Close, QuestionStatus, QuestionType, Reply},
    run::{NewRun, RunLimits},
};
use folkmoot_engine::{
    Ctx, Engine, Failure, GateQuery, GateSpec, QuestionQuery, QuestionSpec, Retry, Workflows,
    sim::{self, Crash, Scenario, SimulatedEffects},
};

use super::process::{Node, Traces};
use crate::moot::{agent, principal};

/// Where the sample's steps leave their traces: of a simulation, or of a process.
pub trait Effect: Clone + Send + Sync + 'static {
    fn trace(self, run: String, key: String) -> impl Future<Output = Result<(), Failure>> + Send + 'static;
}

impl Effect for SimulatedEffects {
    fn trace(self, _run: String, key: String) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.happen(key)
    }
}

impl Effect for Traces {
    fn trace(self, run: String, key: String) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.prepare(&run, &key).leave()
    }
}

/// 30 steps in 4 parallel branches, two gates and a question. Each step leaves a trace; every third
/// must not repeat.
pub fn sample(effects: impl Effect) -> Workflows {
    let workflow = move |ctx: Ctx, rest: u64| {
        let effects = effects.clone();
        async move {
            let run = ctx.run_id().to_string();
            let trace = move |key: &str| {
                let (effects, run, key) = (effects.clone(), run.clone(), key.to_owned());
                move || effects.clone().trace(run.clone(), key.clone())
            };
            let plan = ctx.gate("plan", GateSpec::new("Build it?")).await?;
            if !plan.may_proceed() {
                return Err(Failure::new("refused", plan.decision.reason));
            }
            ctx.step("prepare", trace("prepare")).await?;
            let built = ctx.join("build", 1..=4_u64, |ctx, branch| {
                let trace = trace.clone();
                async move {
                    for n in 0..7 {
                        let step = ctx.step(format!("part-{n}"), trace(&format!("build.{branch}/part-{n}")));
                        if n % 3 == 0 {
                            step.once().await?
                        } else {
                            step.await?
                        };
                    }
                    ctx.sleep("rest", Duration::from_millis(branch * rest)).await?;
                    Ok(branch * 7)
                }
            });
            let built = built.await?;
            let ask = QuestionSpec::new(QuestionType::Decision, "Which colour?").options(["red", "blue"]);
            let colour: String = ctx.ask("colour", ask).await?.get()?;
            let shipped = ctx.gate("ship", GateSpec::new(format!("Ship {built:?} in {colour}?"))).await?;
            ctx.step("ship-it", trace("ship-it")).once().await?;
            Ok((built, colour, shipped.may_proceed()))
        }
    };
    Workflows::new().with("sample@1", workflow)
}

fn scenario() -> Scenario {
    let effects = SimulatedEffects::default();
    Scenario::new(sample(effects.clone()), "sample@1", 3_000).effects(effects)
}

fn outcome() -> serde_json::Value {
    serde_json::json!([[7, 14, 21, 28], "red", true])
}

#[test]
fn nothing_is_done_twice_wherever_it_crashes() {
    let calm = sim::simulate(&scenario(), Crash::Never);
    assert_eq!(calm.outcome.unwrap(), outcome());
    assert_eq!(calm.effects.len(), 30);
    assert!(calm.effects.values().all(|count| *count == 1));
    let storms = sim::crash_everywhere(scenario);
    let asked = storms.iter().filter(|storm| !storm.in_flight.is_empty()).count();
    assert!(asked > 20, "only {asked} crashes met a step in flight");
}

#[test]
fn a_seed_has_one_course_and_every_course_the_same_outcome() {
    let calm = |seed| sim::simulate(&scenario().seed(seed), Crash::Never);
    let mut courses = BTreeSet::new();
    for seed in 1..=20 {
        let report = calm(seed);
        assert_eq!(report.outcome.unwrap(), outcome(), "seed {seed}");
        assert!(report.effects.values().all(|count| *count == 1), "seed {seed}");
        courses.insert(report.head.to_string());
    }
    assert_eq!(courses.len(), 20, "each seed has a course of its own");
    assert_eq!(calm(7).head, calm(7).head, "and always the same");
    let storm = |seed| sim::simulate(&scenario().seed(seed), Crash::After(30)).head;
    assert_eq!(storm(7), storm(7), "also with a crash");
}

#[test]
fn a_step_that_fails_is_tried_again_as_often_as_it_may() {
    let effects = SimulatedEffects::default();
    let happening = effects.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let happening = happening.clone();
        async move {
            let flaky = ctx.step("flaky", move || {
                let happening = happening.clone();
                async move {
                    happening.happen("flaky").await?;
                    match happening.count("flaky") {
                        n if n < 3 => Err(Failure::new("busy", format!("attempt {n}"))),
                        n => Ok(n),
                    }
                }
            });
            flaky.retry(Retry::times(5)).await
        }
    };
    let workflows = Workflows::new().with("flaky@1", workflow);
    let report = sim::simulate(&Scenario::new(workflows, "flaky@1", ()).effects(effects), Crash::Never);
    assert_eq!(report.outcome.unwrap(), serde_json::json!(3));
}

/// Starts the sample if it is not there, decides whatever waits, and writes down what came of it.
pub async fn live_through(engine: &Engine, traces: &Traces) {
    let new_run = NewRun {
        id: "sample".parse().unwrap(),
        workflow: Some("sample@1".parse().unwrap()),
        title: String::new(),
        session_id: None,
        input: Some("20".to_owned()),
        limits: RunLimits::default(),
    };
    // A life before this one may have started it.
    let _ = engine.start_run(agent().into(), new_run).await;
    loop {
        decide(engine, traces).await;
        let id = "sample".parse().unwrap();
        let run = engine.wait_for_end(&agent(), &id, Duration::from_millis(5)).await.unwrap();
        if run.ending().is_some() {
            let output = engine.output(&run).await.unwrap().unwrap();
            std::fs::write(traces.0.with_extension("outcome"), output).unwrap();
            return;
        }
    }
}

/// Asked whether a step was done, they look whether it left its trace.
async fn decide(engine: &Engine, traces: &Traces) {
    let alice = principal("alice", Role::Reviewer);
    let query = GateQuery { status: Some(GateStatus::Pending), limit: 100, ..GateQuery::default() };
    for view in engine.gates(&alice, query).await.unwrap().items {
        let asked = view.gate.content.title.strip_prefix("Was ").and_then(|rest| rest.strip_suffix(" done?"));
        let done = asked.is_some_and(|key| traces.read().keys().any(|(_, happened)| happened == key));
        let said = match done {
            true => Review { edited: Some("null".to_owned()), ..Review::on(&view.gate, Choice::Adjust, "I looked") },
            false => Review::on(&view.gate, Choice::Approve, "so"),
        };
        engine.decide(alice.clone().into(), said).await.unwrap();
    }
    let status = Some(QuestionStatus::Pending);
    let query = QuestionQuery { status, limit: 100, ..QuestionQuery::default() };
    for view in engine.questions(&alice, query).await.unwrap().items {
        let close = Close::Answer("red".into());
        let reply = Reply { question: view.question.id, close, reason: String::new() };
        engine.close_question(alice.clone().into(), reply).await.unwrap();
    }
}

/// The same in real processes on a real file. Here some of the places;
/// `FOLKMOOT_CRASH_EVERYWHERE=1` takes them all.
#[test]
fn nothing_is_done_twice_wherever_a_process_dies() {
    let appends = sim::simulate(&scenario(), Crash::Never).appends;
    let stride = if std::env::var("FOLKMOOT_CRASH_EVERYWHERE").is_ok() { 1 } else { appends as usize / 6 };
    let (mut deaths, mut repeated) = (0, 0);
    for n in (1..=appends).step_by(stride) {
        for when in ["before", "after"] {
            let (died, again) = die_once(&format!("{when} {n}"));
            deaths += u32::from(died);
            repeated += again;
        }
    }
    eprintln!("{deaths} processes died, {repeated} effects were in flight and repeated");
    assert!(deaths > 0);
}

/// Whether it died there, and how many effects happened twice.
fn die_once(place: &str) -> (bool, usize) {
    let folder = tempfile::tempdir().unwrap();
    let traces = Traces(folder.path().join("traces"));
    let file = folder.path().join("folkmoot.db");
    let life = |crash| Node::start(file.to_str().unwrap(), &traces.0, "sample", crash).ends_well();
    let died = !life(Some(place));
    assert!(!died || life(None), "the next life ends in peace: {place}");
    assert_eq!(outcome_in(&traces.0), outcome(), "{place}");
    let effects = traces.read();
    assert_eq!(effects.len(), 30, "{place}");
    for ((_, key), by) in &effects {
        let once = key == "ship-it" || ["part-0", "part-3", "part-6"].iter().any(|part| key.ends_with(part));
        assert!(by.len() == 1 || (by.len() == 2 && !once), "{key} happened {} times: {place}", by.len());
    }
    (died, effects.values().filter(|by| by.len() > 1).count())
}

fn outcome_in(traces: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(traces.with_extension("outcome")).unwrap()).unwrap()
}

/// All that the sample has not: attempts that fail, a step of unknown fate, runs that it starts,
/// branches in branches, somebody who is halted meanwhile, pauses of all lengths, and what is drawn
/// or told.
fn medley() -> Scenario {
    let effects = SimulatedEffects::default();
    let (traces, traces_of_child) = (effects.clone(), effects.clone());
    let workflow = move |ctx: Ctx, (): ()| {
        let traces = traces.clone();
        async move {
            let (began, chance) = (ctx.now("began").await?, ctx.random("chance").await?);
            let branches = ctx.join("all", 1..=3_u64, |ctx, branch| {
                let traces = traces.clone();
                async move {
                    ctx.sleep("first", Duration::from_millis(branch * 700)).await?;
                    match branch {
                        1 => {
                            let flaky = ctx.step("flaky", move || {
                                let traces = traces.clone();
                                async move {
                                    traces.happen("all.1/flaky").await?;
                                    match traces.count("all.1/flaky") {
                                        1 | 2 => Err(Failure::new("busy", "later")),
                                        _ => Ok(1),
                                    }
                                }
                            });
                            flaky.retry(Retry { factor: 1.5, ..Retry::times(9) }).await
                        }
                        2 => {
                            // Holds the session, and with it all other branches.
                            ctx.ask("may", QuestionSpec::new(QuestionType::Approval, "May they go on?")).await?;
                            let slow = ctx.step("slow", move || {
                                let traces = traces.clone();
                                async move {
                                    let result = traces.give("all.2/slow", 2_u64).await;
                                    std::future::pending::<()>().await;
                                    result
                                }
                            });
                            slow.once().timeout(Duration::from_secs(2)).await
                        }
                        _ => {
                            let inner = ctx.join("inner", 1..=2_u64, |ctx, n| async move {
                                ctx.child::<u64>("child", "child@1", &n).await
                            });
                            let none = ctx.join("none", 0..0_u64, |_, n| async move { Ok(n) }).await?;
                            Ok(inner.await?.into_iter().chain(none).sum())
                        }
                    }
                }
            });
            let sum: u64 = branches.await?.into_iter().sum();
            ctx.emit("told", "medley.told", &serde_json::json!({ "sum": sum, "chance": chance })).await?;
            ctx.sleep("last", Duration::from_secs(3)).await?;
            Ok((sum, ctx.now("ended").await?.as_micros() - began.as_micros() > 3_000_000))
        }
    };
    let child = move |ctx: Ctx, n: u64| {
        let traces = traces_of_child.clone();
        async move {
            let key = format!("work-{n}");
            let work = ctx.step(key.clone(), move || traces.give(key.clone(), n));
            let worked: u64 = if n == 1 { work.once().await? } else { work.await? };
            ctx.sleep("rest", Duration::from_millis(n * 900)).await?;
            Ok(worked * 10)
        }
    };
    let workflows = Workflows::new().with("medley@1", workflow).with("child@1", child);
    Scenario::new(workflows, "medley@1", ()).effects(effects)
}

#[test]
fn a_medley_has_one_outcome_wherever_it_crashes() {
    let calm = sim::simulate(&medley(), Crash::Never);
    assert_eq!(calm.outcome.unwrap(), serde_json::json!([33, true]));
    let counts: Vec<_> = calm.effects.iter().map(|(key, count)| (key.as_str(), *count)).collect();
    assert_eq!(counts, [("all.1/flaky", 3), ("all.2/slow", 1), ("work-1", 1), ("work-2", 1)]);
    sim::crash_everywhere(medley);
    sim::untold_everywhere(medley);
}

#[test]
fn a_seed_has_one_course_also_where_many_end_at_once() {
    async fn grandparent(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.child::<()>("family", "parent@1", &()).await?;
        ctx.sleep("after", Duration::from_secs(3)).await
    }
    async fn parent(ctx: Ctx, (): ()) -> Result<(), Failure> {
        let children = ctx.join("all", 0..6, |ctx, _| async move { ctx.child::<()>("child", "child@1", &()).await });
        tokio::select! {
            biased;
            ended = children => ended.map(drop),
            enough = ctx.sleep("enough", Duration::from_secs(2)) => enough,
        }
    }
    async fn child(ctx: Ctx, (): ()) -> Result<(), Failure> {
        ctx.step("never", std::future::pending).await
    }
    let workflows = Workflows::new().with("grandparent@1", grandparent).with("parent@1", parent).with("child@1", child);
    let scenario = Scenario::new(workflows, "grandparent@1", ());
    let courses: BTreeSet<_> =
        (0..4).map(|_| sim::simulate(&scenario, Crash::Never)).map(|report| report.head.to_string()).collect();
    assert_eq!(courses.len(), 1);
}
