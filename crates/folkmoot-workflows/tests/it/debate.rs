//! Debates: what comes of them, that people can stop them, and that a crash changes nothing.

mod crash;
mod defects;
mod fields;
mod learn;
mod recorded;
mod replay;
mod security;
mod stage;
mod stopped;
mod wire;

use std::sync::Arc;

use folkmoot_core::gate::Choice;
use folkmoot_debate::{
    DecidedBy, Phases, WORKFLOW,
    agent::{DebatePhase, Domain, Team},
};
use folkmoot_engine::{
    Workflows,
    sim::{self, Crash, Scenario, SimulationReport},
};
use folkmoot_llm::{Model, Rehearsal};
use folkmoot_workflows::debate::{DebateConfig, DebateOutcome, Debater, Gates, Preset};

use self::recorded::Recorded;
use crate::voices::One;

const CODE: &str = "Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else";

fn workflows(model: Arc<dyn Model>) -> Workflows {
    Debater { voices: Arc::new(One(model)), effects: Arc::new(Recorded) }.join(Workflows::new())
}

fn debating(preset: Preset, topic: &str, agents: usize) -> DebateConfig {
    let team = Team::build(agents, Domain::guess(topic).domain, &[]).unwrap();
    preset.debate(topic.to_owned(), team)
}

fn gates(points: &[DebatePhase]) -> Gates {
    Gates { enabled: true, gate_points: points.to_vec(), ..Gates::default() }
}

fn scenario(debating: &DebateConfig) -> Scenario {
    Scenario::new(workflows(Arc::new(Rehearsal)), WORKFLOW, debating).decide(|_| Some(Choice::Approve.into()))
}

fn debated(report: &SimulationReport) -> DebateOutcome {
    serde_json::from_value(report.outcome.clone().unwrap()).unwrap()
}

#[test]
fn a_debate_on_code_ends_with_code_that_passes_everybodys_tests() {
    let mut full = debating(Preset::Full, CODE, 5);
    full.phases = Phases::only(DebatePhase::ALL);
    full.gates = gates(&[DebatePhase::Proposal, DebatePhase::Convergence]);
    let debated = debated(&sim::simulate(&scenario(&full), Crash::Never));
    let verdict = &debated.verdict;
    assert!(verdict.winner.is_some() && verdict.no_decision.is_none());
    assert!(debated.code.as_ref().unwrap().contains("fullmatch"), "{debated:?}");
    let (passed, of) = verdict.tests.unwrap();
    assert_eq!(passed, of);
    assert_eq!((verdict.turns.unparsed, verdict.turns.failed, verdict.turns.refused), (0, 0, 0));
    assert!(debated.versions >= 2);
}

#[test]
fn a_debate_on_words_is_decided_by_ballots() {
    let debated =
        debated(&sim::simulate(&scenario(&debating(Preset::Full, "Should we write tests first?", 5)), Crash::Never));
    assert_eq!(debated.verdict.decided_by, Some(DecidedBy::Vote), "{debated:?}");
    assert_eq!(debated.verdict.ballots.len(), 5);
    assert!(debated.answer.contains("Should we write tests first?"));
}
