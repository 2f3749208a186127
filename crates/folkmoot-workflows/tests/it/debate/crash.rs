//! A debate survives a crash anywhere: the same verdict, and no turn twice.

use std::collections::BTreeMap;

use folkmoot_debate::{
    Phases,
    agent::DebatePhase::{self, *},
};
use folkmoot_engine::sim::{self, Crash, Scenario, SimulationReport};
use folkmoot_workflows::debate::{DebateConfig, Preset};

use super::{CODE, debating, gates, stage::Stage};

/// All phases and two gates.
fn whole(topic: &str, agents: usize) -> DebateConfig {
    DebateConfig {
        phases: Phases::only(DebatePhase::ALL),
        gates: gates(&[Proposal, Convergence]),
        max_rounds: 1,
        ..debating(Preset::Full, topic, agents)
    }
}

/// How often each turn is in the log.
fn turns(report: &SimulationReport) -> BTreeMap<String, u32> {
    let mut turns = BTreeMap::new();
    for (_, payload) in report.told.iter().filter(|(kind, _)| kind == "debate.turn") {
        let turn: serde_json::Value = serde_json::from_str(payload).unwrap();
        *turns.entry(turn["turn"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    turns
}

fn count(report: &SimulationReport, kind: &str) -> usize {
    report.told.iter().filter(|(name, _)| name == kind).count()
}

/// How it goes in calm.
fn calm(scenario: &Scenario) -> SimulationReport {
    let calm = sim::simulate(scenario, Crash::Never);
    assert!(calm.outcome.as_ref().unwrap()["verdict"]["winner"].is_string(), "{:?}", calm.outcome);
    assert_eq!(count(&calm, "gate.opened"), 2);
    let spoken = turns(&calm);
    assert!(spoken.values().all(|times| *times == 1) && spoken.len() >= 10, "{spoken:?}");
    calm
}

fn compare(calm: &SimulationReport, stormy: &SimulationReport) {
    assert_eq!(stormy.outcome, calm.outcome);
    assert_eq!(stormy.kept, calm.kept);
    assert_eq!(turns(stormy), turns(calm));
    for kind in ["gate.opened", "debate.vote", "debate.version", "debate.phase_completed", "debate.completed"] {
        assert_eq!(count(stormy, kind), count(calm, kind), "{kind}");
    }
}

fn small() -> DebateConfig {
    DebateConfig { adversarial_rounds: 1, answers: 2, ..whole("Should we write tests first?", 3) }
}

/// Some places of all; the next test has them all.
#[test]
fn a_debate_survives_a_crash() {
    let make = || Stage::new(&small()).scenario();
    let calm = calm(&make());
    let crashes = [Crash::Before, Crash::After, Crash::Untold];
    // So that each sort of crash comes everywhere from the start to the end, each time elsewhere.
    for (at, n) in (2..=calm.appends).step_by(17).enumerate() {
        compare(&calm, &sim::simulate(&make(), crashes[at % crashes.len()](n)));
    }
}

#[test]
#[ignore = "takes minutes: `cargo test -p folkmoot-workflows --test it -- --ignored survives_a_crash_after_any_append`"]
fn a_debate_survives_a_crash_after_any_append() {
    for debating in [small(), DebateConfig { max_rounds: 2, ..whole(CODE, 5) }] {
        let make = || Stage::new(&debating).scenario();
        let calm = calm(&make());
        for stormy in sim::crash_everywhere(make).iter().chain(&sim::untold_everywhere(make)) {
            compare(&calm, stormy);
        }
    }
}
