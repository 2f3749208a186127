//! A run with model calls in parallel branches has one outcome, wherever it is crashed and whatever
//! is asked about its budget.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use folkmoot_core::gate::{Choice, Gate};
use folkmoot_engine::{
    Ctx, Failure, Workflows,
    sim::{self, Crash, Scenario, SimulationReport},
};
use folkmoot_llm::{
    FailureKind, Finish, Hear, Model, ModelAnswer, ModelRequest, TokenUsage,
    budget::{Budget, SharedBudget},
    record::CallOutcome,
};
use folkmoot_workflows::{ModelCall, OnExceeded, RunBudget};
use futures_util::future::BoxFuture;
use serde_json::json;

const BRANCHES: u64 = 6;
/// Two calls in each branch.
const CALLS: usize = 12;
/// What each call takes, and at most: the text is 20 bytes long, at two bytes a token.
const TOKENS: u64 = 110;

/// What was asked, by its words, and under which idempotency keys: a vendor remembers that over a
/// crash.
#[derive(Clone, Debug, Default)]
struct Vendor(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Vendor {
    fn asked(&self) -> BTreeMap<String, Vec<String>> {
        self.0.lock().unwrap().clone()
    }
}

impl Model for Vendor {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        let text = request.messages[0].text.clone();
        let key = request.idempotency_key.clone().unwrap();
        self.0.lock().unwrap().entry(text.clone()).or_default().push(key);
        Box::pin(async move {
            // So that calls of several branches are in flight at the same time.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            Ok(ModelAnswer {
                text: format!("about {text}"),
                finish: Finish::Stop,
                usage: TokenUsage { input_tokens: 10, cached_tokens: 0, output_tokens: 100, estimated: false },
                provider: "vendor".to_owned(),
                model: "m".to_owned(),
                version: None,
                latency_ms: 1,
                cost_usd_micros: None,
                sent: String::new(),
                failed: Vec::new(),
            })
        })
    }
}

/// What the people say to a gate about the budget, and every such gate that they saw.
#[derive(Clone, Debug, Default)]
struct People(Arc<Mutex<BTreeSet<String>>>);

impl People {
    fn say(&self, gate: &Gate, choice: Choice) -> Option<sim::SimulatedDecision> {
        self.0.lock().unwrap().insert(gate.id.to_string());
        Some(choice.into())
    }

    fn asked(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// Six branches with two calls each. Says who answered, and what was spent.
fn debate(vendor: Vendor, tokens: u64, on_exceeded: OnExceeded) -> Workflows {
    Workflows::new().with("debate@1", move |ctx: Ctx, (): ()| {
        let vendor = vendor.clone();
        async move {
            let budget = Budget { tokens: Some(tokens), usd_micros: None };
            let spending = RunBudget::new(SharedBudget::new(budget), on_exceeded);
            let answers = ctx.join("speaker", 1..=BRANCHES, |ctx, branch| {
                let (spending, vendor) = (spending.clone(), vendor.clone());
                async move {
                    let mut said = Vec::new();
                    for turn in 1..=2 {
                        let request = ModelRequest {
                            max_tokens: 100,
                            ..ModelRequest::new(format!("speaker {branch}, turn {turn:04}"))
                        };
                        let call = ModelCall {
                            key: format!("turn-{turn}"),
                            agent: "speaker".parse().unwrap(),
                            model: Arc::new(vendor.clone()),
                            price: None,
                            request,
                        };
                        match spending.call(&ctx, call).await?.outcome {
                            CallOutcome::Answered(answer) => said.push(answer.text),
                            CallOutcome::Failed(failure) => return Err(Failure::new("silent", failure.detail)),
                        }
                    }
                    Ok(said)
                }
            });
            let answers = answers.await?;
            ctx.step("last", || async { Ok(()) }).await?;
            Ok((answers, spending.spent().tokens))
        }
    })
}

/// A world of its own: what it was asked is known afterwards.
struct World {
    vendor: Vendor,
    people: People,
    scenario: Scenario,
}

fn world(tokens: u64, on_exceeded: OnExceeded, choice: Choice) -> World {
    let (vendor, people) = (Vendor::default(), People::default());
    let deciding = people.clone();
    let scenario = Scenario::new(debate(vendor.clone(), tokens, on_exceeded), "debate@1", ())
        .decide(move |gate| deciding.say(gate, choice));
    World { vendor, people, scenario }
}

/// No storm at all; then every place where it can crash, and every append of which nobody is told.
/// For what differs little from another test some places will do: `FOLKMOOT_CRASH_EVERYWHERE=1`
/// takes them all.
fn storms(stride: usize, make: impl Fn() -> World, check: impl Fn(&World, &SimulationReport, &str)) {
    let calm = make();
    let report = sim::simulate(&calm.scenario, Crash::Never);
    check(&calm, &report, "calm");
    assert!(report.appends > 12, "{} appends", report.appends);
    let stride = if std::env::var("FOLKMOOT_CRASH_EVERYWHERE").is_ok() { 1 } else { stride };
    for n in (1..=report.appends).step_by(stride) {
        for crash in [Crash::Before(n), Crash::After(n), Crash::Untold(n)] {
            let world = make();
            // And another course each time.
            let report = sim::simulate(&world.scenario.clone().seed(n), crash);
            check(&world, &report, &format!("{crash:?}"));
        }
    }
}

/// No call was asked again that was recorded, and one that was in flight only under the key that it
/// had. Of one that was, a vendor may have heard though the next life had no money left for it.
fn asked_as_often_as_it_must(world: &World, report: &SimulationReport, calls: usize, place: &str) {
    let asked = world.vendor.asked();
    let mut keys = BTreeSet::new();
    for (text, under) in &asked {
        let times = under.len();
        let same: BTreeSet<_> = under.iter().cloned().collect();
        assert_eq!(same.len(), 1, "{text:?} was asked under {same:?}: {place}");
        assert!(times <= 2, "{text:?} was asked {times} times: {place}");
        keys.extend(same);
    }
    assert_eq!(keys.len(), asked.len(), "two calls have one idempotency key: {place}");
    let all: usize = asked.values().map(Vec::len).sum();
    let most = calls + report.in_flight.len();
    assert!((calls..=most).contains(&all), "{all} were asked, {:?} were in flight: {place}", report.in_flight);
}

fn all_answers() -> serde_json::Value {
    let said = |branch, turn| format!("about speaker {branch}, turn {turn:04}");
    let answers: Vec<_> = (1..=BRANCHES).map(|branch| [said(branch, 1), said(branch, 2)]).collect();
    json!([answers, TOKENS * CALLS as u64])
}

#[test]
fn every_call_is_asked_once_and_counted_once_wherever_it_crashes() {
    let make = || world(TOKENS * 100, OnExceeded::Fail, Choice::Approve);
    storms(9, make, |world, report, place| {
        assert_eq!(report.outcome.as_ref(), Ok(&all_answers()), "{place}");
        assert_eq!(world.people.asked(), 0, "{place}");
        asked_as_often_as_it_must(world, report, CALLS, place);
    });
}

#[test]
fn a_budget_that_is_spent_once_is_asked_about_once_wherever_it_crashes() {
    // Enough for seven calls; twice that is enough for all. Five branches find it empty at the same
    // time.
    let make = || world(TOKENS * 7, OnExceeded::Ask, Choice::Approve);
    storms(1, make, |world, report, place| {
        assert_eq!(report.outcome.as_ref(), Ok(&all_answers()), "{place}");
        assert_eq!(world.people.asked(), 1, "{place}");
        asked_as_often_as_it_must(world, report, CALLS, place);
    });
}

#[test]
fn a_budget_that_people_do_not_extend_ends_the_run() {
    let make = || world(TOKENS * 7, OnExceeded::Ask, Choice::Reject);
    storms(9, make, |world, report, place| {
        let failure = report.outcome.as_ref().unwrap_err();
        assert_eq!(failure.code, "budget_exceeded", "{failure:?} {place}");
        assert_eq!(world.people.asked(), 1, "{place}");
        asked_as_often_as_it_must(world, report, 7, place);
    });
}

#[test]
fn a_budget_that_nobody_is_asked_about_ends_the_run() {
    let make = || world(TOKENS * 7, OnExceeded::Fail, Choice::Approve);
    storms(9, make, |world, report, place| {
        let failure = report.outcome.as_ref().unwrap_err();
        assert_eq!(failure.code, "budget_exceeded", "{failure:?} {place}");
        assert_eq!(world.people.asked(), 0, "{place}");
        asked_as_often_as_it_must(world, report, 7, place);
    });
}

#[test]
fn a_budget_that_is_spent_again_is_asked_about_again() {
    let make = || world(TOKENS * 4, OnExceeded::Ask, Choice::Approve);
    storms(9, make, |world, report, place| {
        assert_eq!(report.outcome.as_ref(), Ok(&all_answers()), "{place}");
        assert_eq!(world.people.asked(), 2, "{place}");
        asked_as_often_as_it_must(world, report, CALLS, place);
    });
}

/// Hears everything and never answers.
#[derive(Debug)]
struct Silent;

impl Model for Silent {
    fn ask<'a>(
        &'a self,
        _: &'a ModelRequest,
        _: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        Box::pin(std::future::pending())
    }
}

/// Says something, and fails before the end.
#[derive(Debug)]
struct Breaks;

impl Model for Breaks {
    fn ask<'a>(
        &'a self,
        _: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        hear.piece("Sixteen bytes it");
        Box::pin(async { Err(folkmoot_llm::ModelFailure::new("breaks", FailureKind::Truncated, "the line is dead")) })
    }
}

/// One call after another, of which none gives an answer: why, and what all took.
fn unanswered(model: Arc<dyn Model>) -> Scenario {
    let workflow = move |ctx: Ctx, (): ()| {
        let model = Arc::clone(&model);
        async move {
            let spending = RunBudget::new(SharedBudget::new(Budget::default()), OnExceeded::Fail);
            let mut kinds = Vec::new();
            for turn in 1..=2 {
                let (key, agent, model) = (format!("turn-{turn}"), "speaker".parse().unwrap(), Arc::clone(&model));
                let call =
                    ModelCall { key, agent, model, price: None, request: ModelRequest::new("Is anybody there?") };
                match spending.call(&ctx, call).await?.outcome {
                    CallOutcome::Answered(answer) => return Err(Failure::new("answered", answer.text)),
                    CallOutcome::Failed(failure) => kinds.push(failure.kind),
                }
            }
            Ok((kinds, spending.spent().tokens))
        }
    };
    Scenario::new(Workflows::new().with("silence@1", workflow), "silence@1", ())
}

#[test]
fn a_model_that_never_answers_is_recorded_and_ends_no_run() {
    let scenario = || unanswered(Arc::new(Silent));
    // What was sent has been read, for all anybody knows: 17 bytes, twice.
    assert_eq!(sim::simulate(&scenario(), Crash::Never).outcome, Ok(json!([["timed_out", "timed_out"], 10])));
    sim::crash_everywhere(scenario);
    sim::untold_everywhere(scenario);
}

#[test]
fn what_a_failed_call_took_is_counted_wherever_it_crashes() {
    let scenario = || unanswered(Arc::new(Breaks));
    assert_eq!(sim::simulate(&scenario(), Crash::Never).outcome, Ok(json!([["truncated", "truncated"], 18])));
    sim::crash_everywhere(scenario);
    sim::untold_everywhere(scenario);
}
