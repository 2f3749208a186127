use super::*;

fn course(phases: &Phases, max_rounds: u32, early_exit: bool) -> Course {
    let three_quarters = Share::hundredths(75).unwrap();
    Course::new(phases, false, max_rounds, three_quarters, early_exit).unwrap()
}

#[test]
fn phases_come_in_their_order_and_what_comes_before_a_debate_comes_once() {
    let course = course(&Phases::only(DebatePhase::ALL), 3, true);
    assert_eq!(course.round(1).collect::<Vec<_>>(), DebatePhase::ALL);
    assert_eq!(course.round(2).collect::<Vec<_>>(), DebatePhase::ALL[2..]);
}

#[test]
fn each_phase_can_be_left_out_but_somebody_must_answer() {
    for phase in DebatePhase::ALL {
        let without = Phases::only(DebatePhase::ALL).with(*phase, Switch::Off);
        let left = course(&without, 1, true);
        assert!(!left.phases.contains(phase));
        assert_eq!(left.phases.len(), DebatePhase::ALL.len() - 1);
    }
    let nobody = Phases::only(&[DebatePhase::Critique, DebatePhase::Convergence]);
    assert!(Course::new(&nobody, true, 1, Share::ONE, true).is_err());
}

#[test]
fn what_is_automatic_follows_the_estimate() {
    let auto = Phases::all();
    for clarify in [false, true] {
        let course = Course::new(&auto, clarify, 1, Share::ONE, true).unwrap();
        assert_eq!(course.phases.contains(&DebatePhase::Dehallucination), clarify);
    }
}

#[test]
fn a_debate_has_one_to_ten_rounds() {
    for (rounds, is_fine) in [(0, false), (1, true), (ROUNDS_MAX, true), (ROUNDS_MAX + 1, false)] {
        assert_eq!(Course::new(&Phases::all(), false, rounds, Share::ONE, true).is_ok(), is_fine, "{rounds}");
    }
}

#[test]
fn it_ends_early_only_when_it_decided_with_enough_agreement() {
    let share = |hundredths| Some(Share::hundredths(hundredths).unwrap());
    let early = course(&Phases::all(), 3, true);
    assert!(early.goes_on(1, true, share(74)));
    assert!(early.goes_on(1, false, share(100)), "a tie that all are sure of is no decision");
    assert!(early.goes_on(1, true, None));
    assert!(!early.goes_on(1, true, share(75)));
    assert!(!early.goes_on(3, false, None), "the last round is the last");
    assert!(course(&Phases::all(), 3, false).goes_on(1, true, share(100)));
    let nobody_votes = course(&Phases::only(&[DebatePhase::Proposal]), 3, true);
    assert!(!nobody_votes.goes_on(1, false, None));
}
