//! Plans: what is made of what people say, and that a crash changes nothing about it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use folkmoot_core::{
    Timeout,
    gate::{Choice, Gate, GateKind},
};
use folkmoot_debate::plan::{OnExpiry, WORKFLOW};
use folkmoot_engine::{
    Workflows,
    sim::{self, Crash, Scenario, SimulatedDecision, SimulationReport},
};
use folkmoot_llm::{FailureKind, Finish, Hear, Model, ModelAnswer, ModelRequest, Rehearsal, TokenUsage};
use folkmoot_workflows::plan::{Plan, Planner, Planning, html, markdown};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::voices::One;

fn workflows(model: Arc<dyn Model>, asks: bool) -> Workflows {
    let planner =
        Planner { voices: Arc::new(One(model)), expires_after: Timeout::After(Duration::from_secs(3600)), asks };
    planner.join(Workflows::new())
}

fn planning(max_iterations: u32, checkpoint_interval: u32) -> Planning {
    Planning {
        goal: "Open a second bakery".to_owned(),
        max_iterations,
        checkpoint_interval,
        sources: Vec::new(),
        expires_after: None,
        on_expiry: None,
        provider: None,
        budget: None,
        max_tokens: None,
        reviewers: None,
        notification_channels: Vec::new(),
        gates_off: false,
    }
}

/// What people say to each gate, in turn; nothing once they have said all.
fn people(says: &[SimulatedDecision]) -> impl Fn(&Gate) -> Option<SimulatedDecision> + Send + Sync + 'static {
    let heard: Mutex<Vec<String>> = Mutex::default();
    let says = says.to_vec();
    move |gate| {
        // A gate that is still there after a crash is the same gate.
        let mut heard = heard.lock().unwrap();
        let at = heard.iter().position(|id| *id == gate.id.to_string()).unwrap_or_else(|| {
            heard.push(gate.id.to_string());
            heard.len() - 1
        });
        says.get(at).cloned()
    }
}

fn say(choice: Choice, feedback: &str) -> SimulatedDecision {
    SimulatedDecision { feedback: Some(feedback.to_owned()), ..SimulatedDecision::from(choice) }
}

fn approve() -> SimulatedDecision {
    Choice::Approve.into()
}

fn scenario(planning: Planning, says: &[SimulatedDecision]) -> Scenario {
    Scenario::new(workflows(Arc::new(Rehearsal), true), WORKFLOW, planning).decide(people(says))
}

fn plan(report: &SimulationReport) -> Plan {
    serde_json::from_value(report.outcome.clone().unwrap()).unwrap()
}

fn numbers(plan: &Plan) -> Vec<u32> {
    plan.iterations.iter().map(|shown| shown.number).collect()
}

#[test]
fn a_plan_is_made_of_everything_that_people_approved() {
    let plan = plan(&sim::simulate(&scenario(planning(6, 3), &[approve(), approve(), approve()]), Crash::Never));
    assert_eq!(numbers(&plan), [1, 2, 3, 4, 5, 6]);
    assert_eq!((plan.iterations_completed, plan.total_iterations, plan.paused), (6, 6, false));
    assert_eq!((plan.tally.insights, plan.tally.frameworks_evolved, plan.tally.data_points_collected), (6, 6, 6));
    let names: Vec<&str> = plan.entities.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(names[..2], ["executive_summary_report", "detailed_implementation_plan"]);
    assert!(plan.final_plan.contains("What it costs"), "{}", plan.final_plan);
}

#[test]
fn one_iteration_runs_at_once() {
    let plan = plan(&sim::simulate(&scenario(planning(1, 3), &[]), Crash::Never));
    assert_eq!(numbers(&plan), [1]);
    assert_eq!(plan.proposal, "");
}

#[test]
fn a_pause_accepts_what_was_shown_and_nothing_after_it() {
    let says = [approve(), Choice::Pause.into()];
    let plan = plan(&sim::simulate(&scenario(planning(6, 2), &says), Crash::Never));
    assert_eq!((numbers(&plan), plan.paused), (vec![1, 2], true));
    assert!(!plan.final_plan.contains("What could go wrong"), "{}", plan.final_plan);
}

#[test]
fn what_was_rejected_is_left_out() {
    let says = [approve(), approve(), say(Choice::Reject, "")];
    let plan = plan(&sim::simulate(&scenario(planning(6, 2), &says), Crash::Never));
    assert_eq!(numbers(&plan), [1, 2]);
    assert!(!plan.final_plan.contains("What could go wrong"), "{}", plan.final_plan);
}

#[test]
fn a_first_checkpoint_that_is_rejected_ends_it() {
    let report = sim::simulate(&scenario(planning(6, 2), &[approve(), Choice::Reject.into()]), Crash::Never);
    assert_eq!(report.outcome.unwrap_err().code, "user_rejected_checkpoint");
}

#[test]
fn a_proposal_that_is_rejected_ends_it_before_the_first_iteration() {
    let script = Arc::new(Script { lines: Mutex::new([words("P")].into()), ..Script::default() });
    let scenario = Scenario::new(workflows(script.clone(), true), WORKFLOW, planning(6, 3));
    let report = sim::simulate(&scenario.decide(people(&[Choice::Reject.into()])), Crash::Never);
    assert_eq!(report.outcome.unwrap_err().code, "user_rejected_proposal");
    assert_eq!(script.asked.lock().unwrap().len(), 1, "nothing but the proposal was asked for");
}

#[test]
fn a_proposal_that_is_sent_back_comes_back_changed() {
    let says = [say(Choice::Adjust, "Think of the ovens."), approve(), approve()];
    let plan = plan(&sim::simulate(&scenario(planning(2, 2), &says), Crash::Never));
    assert!(plan.proposal.contains("Think of the ovens."), "{}", plan.proposal);
}

#[test]
fn a_text_that_people_wrote_is_the_next_proposal_and_is_asked_about_too() {
    let edited =
        SimulatedDecision { edited: Some("Only look at costs.".to_owned()), ..SimulatedDecision::from(Choice::Adjust) };
    let plan = plan(&sim::simulate(&scenario(planning(2, 2), &[edited, approve(), approve()]), Crash::Never));
    assert_eq!(plan.proposal, "Only look at costs.");
}

#[test]
fn a_strategy_reaches_the_next_iterations_and_not_those_before() {
    let says = [approve(), say(Choice::Adjust, "Cheaper."), approve()];
    let plan = plan(&sim::simulate(&scenario(planning(4, 2), &says), Crash::Never));
    let heard: Vec<bool> =
        plan.iterations.iter().map(|shown| shown.gave.as_ref().unwrap().text.contains("Cheaper.")).collect();
    assert_eq!(heard, [false, false, true, true]);
    assert_eq!(plan.strategy, ["Cheaper."]);
}

#[test]
fn a_session_that_nobody_comes_back_to_expires() {
    let report = sim::simulate(&scenario(planning(6, 3), &[]), Crash::Never);
    let failure = report.outcome.unwrap_err();
    assert_eq!(
        (failure.code.as_str(), failure.message.as_str()),
        ("session_expired", "Your session has expired. Please start planning again.")
    );
}

#[test]
fn what_nobody_looked_at_in_time_is_left_out_where_that_was_asked_for() {
    let planning = Planning { on_expiry: Some(OnExpiry::Reject), ..planning(6, 2) };
    let plan = plan(&sim::simulate(&scenario(planning, &[approve(), approve()]), Crash::Never));
    assert_eq!(numbers(&plan), [1, 2]);
}

#[test]
fn where_the_configuration_asks_nobody_it_goes_on_at_once() {
    let run = |asks, gates_off| {
        let scenario =
            Scenario::new(workflows(Arc::new(Rehearsal), asks), WORKFLOW, Planning { gates_off, ..planning(4, 2) });
        sim::simulate(&scenario.decide(people(&[])), Crash::Never)
    };
    assert_eq!(numbers(&plan(&run(false, true))), [1, 2, 3, 4]);
    // Either alone switches nothing off.
    for (asks, gates_off) in [(true, true), (false, false), (true, false)] {
        assert_eq!(run(asks, gates_off).outcome.unwrap_err().code, "session_expired");
    }
}

/// Says what it is told to, one thing after another, and remembers what it was asked.
#[derive(Debug, Default)]
struct Script {
    lines: Mutex<VecDeque<Result<String, FailureKind>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Model for Script {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        _: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        self.asked.lock().unwrap().push(request.clone());
        let line = self.lines.lock().unwrap().pop_front().expect("a line for each call");
        Box::pin(async move {
            let text = line.map_err(|kind| folkmoot_llm::ModelFailure::new("script", kind, "as the script says"))?;
            // Scissors at the end: it is cut off there.
            let (text, finish) = match text.strip_suffix('✂') {
                Some(cut) => (cut.to_owned(), Finish::Length),
                None => (text, Finish::Stop),
            };
            Ok(ModelAnswer {
                text,
                finish,
                usage: TokenUsage { input_tokens: 1, cached_tokens: 0, output_tokens: 1, estimated: false },
                provider: "script".to_owned(),
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

fn iteration(text: &str) -> Result<String, FailureKind> {
    let answer = json!({ "title": "T", "text": text, "insights": ["I"], "frameworks": [], "data_points": [] });
    Ok(answer.to_string())
}

fn words(text: &str) -> Result<String, FailureKind> {
    Ok(text.to_owned())
}

const FINAL: &str = "## Executive summary\n\nBake.\n\n## Implementation plan\n\nBuy flour.";

fn scripted(
    planning: Planning,
    lines: impl IntoIterator<Item = Result<String, FailureKind>>,
) -> (SimulationReport, Arc<Script>) {
    let script = Arc::new(Script { lines: Mutex::new(lines.into_iter().collect()), ..Script::default() });
    let scenario = Scenario::new(workflows(script.clone(), true), WORKFLOW, planning)
        .decide(|gate| matches!(gate.content.kind, GateKind::Proposal | GateKind::Checkpoint).then(approve));
    (sim::simulate(&scenario, Crash::Never), script)
}

#[test]
fn an_iteration_that_repeats_another_is_asked_for_again_and_counts_as_nothing_if_it_does_so_again() {
    let lines = [words("P"), iteration("one"), iteration("ONE "), iteration("one"), iteration("three"), words(FINAL)];
    let (report, script) = scripted(planning(3, 3), lines);
    let plan = plan(&report);
    assert_eq!(
        plan.iterations[1].gave.as_ref().unwrap_err(),
        "it repeats iteration 1, and adds nothing; asked again: it repeats iteration 1, and adds nothing"
    );
    let asked = script.asked.lock().unwrap();
    let last = &asked.last().unwrap().messages[0].text;
    assert!(last.contains("three") && !last.contains("iteration 2"), "{last}");
}

#[test]
fn what_cannot_be_read_is_no_iteration_and_never_an_insight() {
    let nonsense = || words("Certainly! Here is your plan.");
    let lines = [words("P"), nonsense(), nonsense(), iteration("two"), words(FINAL)];
    let plan = plan(&scripted(planning(2, 2), lines).0);
    assert!(plan.iterations[0].gave.is_err());
    assert_eq!(plan.tally.insights, 1);
}

#[test]
fn where_no_iteration_gave_anything_there_is_no_plan() {
    let fails = || Err(FailureKind::Refused);
    let (report, _) = scripted(planning(2, 1), [words("P"), fails(), fails()]);
    assert_eq!(report.outcome.unwrap_err().code, "nothing_produced");
}

#[test]
fn a_final_plan_without_its_sections_is_asked_for_once_more() {
    let lines = || [words("P"), iteration("one"), iteration("two"), words("All will be well.")];
    let (report, script) = scripted(planning(2, 2), lines().into_iter().chain([words(FINAL)]));
    assert_eq!(plan(&report).final_plan, FINAL);
    let asked = script.asked.lock().unwrap().last().unwrap().messages.last().unwrap().text.clone();
    assert!(asked.contains("there is no section `## Executive summary`"), "{asked}");
    let (report, _) = scripted(planning(2, 2), lines().into_iter().chain([words("No.")]));
    assert_eq!(report.outcome.unwrap_err().code, "no_final_plan");
}

#[test]
fn a_final_plan_that_was_cut_off_is_continued_or_is_none() {
    let (begin, end) = FINAL.split_at(FINAL.len() - 4);
    let cut = |text: &str| words(&format!("{text}✂"));
    let before = || [words("P"), iteration("one"), iteration("two")];
    let (report, script) = scripted(planning(2, 2), before().into_iter().chain([cut(begin), words(end)]));
    assert_eq!(plan(&report).final_plan, FINAL);
    let asked = script.asked.lock().unwrap().last().unwrap().messages.clone();
    assert_eq!(asked[asked.len() - 2].text, begin, "it is shown what it said");
    assert!(asked[asked.len() - 1].text.contains("was cut off"), "{asked:?}");
    // One that never comes to its end is no plan, however much of it looks like one.
    let never = (0..8).map(|_| cut(FINAL));
    let (report, script) = scripted(planning(2, 2), before().into_iter().chain(never));
    let failure = report.outcome.unwrap_err();
    assert!(failure.code == "no_final_plan" && failure.message.contains("cut off"), "{failure:?}");
    assert_eq!(script.asked.lock().unwrap().len(), 3 + 8, "four times at most, and once more");
}

#[test]
fn how_long_an_answer_may_be_is_the_plans_to_say() {
    let (_, script) = scripted(Planning { max_tokens: Some(777), ..planning(1, 1) }, [iteration("one"), words(FINAL)]);
    assert!(script.asked.lock().unwrap().iter().all(|request| request.max_tokens == 777));
}

#[test]
fn every_schema_of_a_plan_is_one_that_all_vendors_take() {
    let lines = [words("P"), words("No."), iteration("one"), words("No."), words(FINAL)];
    let (_, script) = scripted(planning(1, 1), lines.into_iter().skip(1));
    let (refused, sorts) = crate::vendors::refused(std::mem::take(&mut *script.asked.lock().unwrap()));
    assert_eq!((refused, sorts), (Vec::new(), 4));
}

#[test]
fn a_final_plan_that_could_not_be_written_is_written_when_the_plan_is_resumed() {
    let lines = [iteration("one"), words("No."), words("No."), words("No."), words("No."), words(FINAL)];
    let script = Arc::new(Script { lines: Mutex::new(lines.into_iter().collect()), ..Script::default() });
    let scenario = Scenario::new(workflows(script, true), WORKFLOW, planning(1, 1)).resume(2);
    assert_eq!(plan(&sim::simulate(&scenario, Crash::Never)).final_plan, FINAL);
}

#[test]
fn a_model_that_is_away_costs_a_plan_time_and_nothing_else() {
    let calm = [words("P"), iteration("one"), iteration("two"), words(FINAL)];
    let outages = [FailureKind::Unavailable, FailureKind::RateLimited, FailureKind::NoCredit, FailureKind::Unreachable];
    let stormy = calm.iter().cloned().flat_map(|line| outages.map(Err).into_iter().chain([line]));
    let (report, script) = scripted(planning(2, 2), stormy);
    assert_eq!(plan(&report).iterations, plan(&scripted(planning(2, 2), calm.clone()).0).iterations);
    assert!(script.lines.lock().unwrap().is_empty(), "each line was asked for");
    let parked: Vec<_> = report.told.iter().filter(|(kind, _)| kind == "run.parked").collect();
    let waited = parked.iter().filter(|(_, payload)| payload.contains(r#""outages":[{"provider":"script""#)).count();
    assert_eq!(waited, 16, "{parked:?}");
    // A key that the vendor does not take is for a person to mend.
    let (report, _) = scripted(planning(2, 2), [words("P"), Err(FailureKind::Unauthorised)]);
    let stopped = report.outcome.unwrap_err();
    assert!(stopped.code == "unauthorised" && stopped.message.contains("resume this run"), "{stopped}");
}

#[test]
fn a_plan_survives_a_crash_after_any_append() {
    let says = || [say(Choice::Adjust, "Shorter."), approve(), say(Choice::Adjust, "Cheaper."), Choice::Pause.into()];
    let make = || scenario(planning(5, 2), &says());
    let calm = sim::simulate(&make(), Crash::Never);
    assert_eq!(numbers(&plan(&calm)), [1, 2, 3, 4]);
    sim::crash_everywhere(make);
    sim::untold_everywhere(make);
}

/// The rehearsal, away for the first two calls of each part.
#[derive(Debug, Default)]
struct Away(Mutex<BTreeMap<String, u32>>);

impl Model for Away {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, folkmoot_llm::ModelFailure>> {
        let part = request.cue.as_ref().unwrap().part.clone();
        let times = *self.0.lock().unwrap().entry(part).and_modify(|times| *times += 1).or_insert(1);
        Box::pin(async move {
            match times {
                1 | 2 => Err(folkmoot_llm::ModelFailure::new("away", FailureKind::Unreachable, "nobody answers")),
                _ => Rehearsal.ask(request, hear).await,
            }
        })
    }
}

#[test]
fn a_plan_whose_model_is_away_survives_a_crash_after_any_append() {
    let make = || {
        Scenario::new(workflows(Arc::new(Away::default()), true), WORKFLOW, planning(1, 1)).decide(people(&[approve()]))
    };
    assert_eq!(numbers(&plan(&sim::simulate(&make(), Crash::Never))), [1]);
    sim::crash_everywhere(make);
    sim::untold_everywhere(make);
}

#[test]
fn an_exported_plan_holds_no_code_of_its_writer() {
    let evil = "## Executive summary\n\n<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>\n\n\
                ## Implementation plan\n\n[docs](https://example.org) <b>bold</b>";
    let plan = plan(&scripted(planning(1, 1), [iteration("one"), words(evil)]).0);
    let page = html(&plan);
    let body = &page[page.find("<body>").unwrap()..];
    for bad in ["<script", "<img", "href=\"javascript", "onerror=\""] {
        assert!(!body.contains(bad), "{bad} in {body}");
    }
    assert!(body.contains("href=\"https://example.org\""), "{body}");
    assert!(body.contains("<h2>Executive summary</h2>"), "{body}");
    assert!(markdown(&plan).starts_with("# Open a second bakery\n\n## Executive summary"), "{}", markdown(&plan));
}

#[test]
fn a_first_checkpoint_that_nobody_looks_at_is_an_expired_session() {
    let planning = Planning { on_expiry: Some(OnExpiry::Reject), ..planning(6, 2) };
    let report = sim::simulate(&scenario(planning, &[approve()]), Crash::Never);
    assert_eq!(report.outcome.unwrap_err().code, "session_expired");
}
