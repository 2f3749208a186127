use proptest::prelude::*;

use super::*;

fn observed(confidence: u8, consensus: u8, insights: u32, latency_ms: u64) -> PhaseObservation {
    let share = |hundredths| Some(Share::of(hundredths));
    PhaseObservation { answers: 3, confidence: share(confidence), consensus: share(consensus), insights, latency_ms }
}

fn compare(observed: PhaseObservation) -> String {
    let compared = PhaseExpectations::default().compare(1, DebatePhase::Proposal, observed).unwrap();
    format!("{} {} {}", compared.score, compared.outcome, if compared.replan { "replan" } else { "go on" })
}

#[test]
fn what_was_expected_is_half() {
    for phase in DebatePhase::ALL {
        let mut planner = PhaseExpectations::default();
        let Some(expected) = planner.expects(*phase) else { continue };
        let Expectation { confidence, consensus, insights, latency_ms } = expected;
        let seen = observed(confidence.as_hundredths(), consensus.as_hundredths(), insights, latency_ms);
        let compared = planner.compare(1, *phase, seen).unwrap();
        assert_eq!((compared.score, compared.outcome), (Share::of(50), PhaseOutcome::AsExpected), "{phase}");
        assert_eq!((compared.next, planner.missed(1)), (expected, false), "{phase}: nothing to learn");
    }
}

#[test]
fn the_five_phases_that_work_towards_agreement_have_expectations() {
    let expected: Vec<String> = DebatePhase::ALL
        .iter()
        .filter_map(|phase| Some((phase, Expectation::first(*phase)?)))
        .map(|(phase, e)| format!("{phase} {} {} {}", e.confidence, e.consensus, e.insights))
        .collect();
    assert_eq!(
        expected,
        [
            "proposal 0.70 0.50 5",
            "critique 0.75 0.60 7",
            "review 0.70 0.65 4",
            "optimization 0.75 0.70 3",
            "convergence 0.80 0.75 2",
        ]
    );
    let mut planner = PhaseExpectations::default();
    assert_eq!(planner.compare(1, DebatePhase::Adversarial, observed(0, 0, 0, 0)), None);
    assert_eq!(planner.history().len(), 0);
}

#[test]
fn above_seven_tenths_is_a_success_and_below_three_a_failure() {
    assert_eq!(compare(observed(100, 100, 10, 0)), "0.94 success go on");
    // 0.3 * 0.70 + 0.3 * 0.70 + 0.2 * 0.80 + 0.2 * 0.60 is exactly 0.70.
    assert_eq!(compare(observed(90, 70, 8, 24_000)), "0.70 as_expected go on");
    assert_eq!(compare(observed(91, 70, 8, 24_000)), "0.70 success go on", "it is rounded only to be shown");
    // 0.3 * 0.30 + 0.3 * 0.30 + 0.2 * 0.20 + 0.2 * 0.40 is exactly 0.30.
    assert_eq!(compare(observed(50, 30, 2, 36_000)), "0.30 as_expected go on");
    assert_eq!(compare(observed(49, 30, 2, 36_000)), "0.29 failure replan");
    assert_eq!(compare(observed(0, 0, 0, u64::MAX)), "0.00 failure replan");
}

#[test]
fn nobody_answered_is_a_failure_and_teaches_nothing() {
    let mut planner = PhaseExpectations::default();
    let nobody = PhaseObservation { answers: 0, ..observed(100, 100, 100, 0) };
    let compared = planner.compare(4, DebatePhase::Review, nobody).unwrap();
    assert_eq!((compared.score, compared.outcome, compared.replan), (Share::ZERO, PhaseOutcome::Failure, true));
    assert_eq!(compared.next, compared.expected);
    assert!(planner.missed(4) && !planner.missed(3));
}

#[test]
fn what_is_not_known_has_no_weight() {
    let silent = PhaseObservation { confidence: None, consensus: None, ..observed(0, 0, 10, 0) };
    assert_eq!(compare(silent), "1.00 success go on");
    let compared = PhaseExpectations::default().compare(1, DebatePhase::Proposal, silent).unwrap();
    assert_eq!((compared.next.confidence, compared.next.consensus), (Share::of(70), Share::of(50)));
}

#[test]
fn what_is_expected_moves_three_tenths_of_the_way() {
    let mut planner = PhaseExpectations::default();
    let next = planner.compare(1, DebatePhase::Proposal, observed(90, 100, 15, 10_000)).unwrap().next;
    let expected = Expectation { confidence: Share::of(76), consensus: Share::of(65), insights: 8, latency_ms: 24_000 };
    assert_eq!(next, expected);
    assert_eq!(planner.expects(DebatePhase::Proposal), Some(expected));
    assert_eq!(planner.expects(DebatePhase::Critique), Expectation::first(DebatePhase::Critique), "of that phase only");
}

#[test]
fn a_planner_is_what_was_written_of_it() {
    let mut planner = PhaseExpectations::default();
    planner.compare(1, DebatePhase::Proposal, observed(90, 100, 15, 10_000));
    let written = serde_json::to_string(&planner).unwrap();
    assert_eq!(serde_json::from_str::<PhaseExpectations>(&written).unwrap(), planner);
}

proptest! {
    #[test]
    fn expectations_stay_between_old_and_seen_and_history_is_bounded(
        seen in prop::collection::vec((0..=100u8, 0..=100u8, any::<u32>(), any::<u64>()), 1..=2 * HISTORY_MAX),
    ) {
        let mut planner = PhaseExpectations::default();
        for (round, (confidence, consensus, insights, latency)) in seen.iter().enumerate() {
            let seen = observed(*confidence, *consensus, *insights, *latency);
            let Comparison { expected, next, score, outcome, .. } =
                planner.compare(round as u32, DebatePhase::Critique, seen).unwrap();
            let between = |old: u64, seen: u64, next: u64| (old.min(seen)..=old.max(seen)).contains(&next);
            let share = |share: Share| u64::from(share.as_hundredths());
            prop_assert!(between(share(expected.confidence), (*confidence).into(), share(next.confidence)));
            prop_assert!(between(share(expected.consensus), (*consensus).into(), share(next.consensus)));
            prop_assert!(between(expected.insights.into(), (*insights).into(), next.insights.into()));
            prop_assert!(between(expected.latency_ms, *latency, next.latency_ms));
            prop_assert!(outcome != PhaseOutcome::Failure || score < Share::of(30));
            prop_assert!(outcome != PhaseOutcome::Success || score >= Share::of(70));
        }
        prop_assert_eq!(planner.history().len(), seen.len().min(HISTORY_MAX));
        prop_assert_eq!(planner.history().last().map(|newest| newest.round as usize), Some(seen.len() - 1));
    }

    #[test]
    fn better_is_never_worse(
        one in (0..=100u8, 0..=100u8, 0..20u32, 0..90_000u64),
        more in (0..=100u8, 0..=100u8, 0..20u32, 0..90_000u64),
    ) {
        let score = |(confidence, consensus, insights, latency)| {
            let mut planner = PhaseExpectations::default();
            planner.compare(1, DebatePhase::Proposal, observed(confidence, consensus, insights, latency)).unwrap().score
        };
        let better = (one.0.max(more.0), one.1.max(more.1), one.2.max(more.2), one.3.min(more.3));
        prop_assert!(score(better) >= score(one));
    }
}
