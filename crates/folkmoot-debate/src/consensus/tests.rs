use proptest::prelude::*;

use super::*;
use crate::{
    agent::Score,
    voting::{VotingRules, elect},
};

fn name(text: impl ToString) -> Name {
    text.to_string().parse().unwrap()
}

fn names(text: &str) -> Vec<Name> {
    text.chars().map(name).collect()
}

fn answer(text: &str, confidence: u8) -> Contribution<'_> {
    Contribution::Answer { text, confidence: Some(Share::of(confidence)) }
}

/// `level = confidence agreement overlap`, with `-` for what is not there.
fn check(contributions: &[Contribution<'_>], votes: &str, expected: &str) {
    let Consensus { level, confidence, agreement, overlap, .. } = Consensus::of(contributions, &names(votes));
    let said = |part: Option<Share>| part.map_or_else(|| "-".to_owned(), |part| part.to_string());
    let told = format!("{} = {} {} {}", said(level), said(confidence), said(agreement), said(overlap));
    assert_eq!(told, expected, "{contributions:?} {votes}");
}

#[test]
fn a_consensus_is_made_of_confidence_votes_and_words() {
    let two = [answer("use a queue with locks", 80), answer("Use one queue, with timeouts", 60)];
    // queue and with of queue, with, locks, timeouts.
    check(&two, "AAB", "0.64 = 0.70 0.66 0.50");
    check(&two, "AAA", "0.78 = 0.70 1.00 0.50");
}

#[test]
fn what_is_not_there_has_no_weight_and_is_never_a_half() {
    let two = [answer("use a queue with locks", 80), answer("Use one queue, with timeouts", 60)];
    check(&two, "", "0.63 = 0.70 - 0.50");
    check(&two[..1], "", "0.80 = 0.80 - -");
    check(&[answer("42", 90), answer("42", 90)], "AA", "0.95 = 0.90 1.00 -");
    let unsure = |text| Contribution::Answer { text, confidence: None };
    check(&[unsure("same words"), unsure("same words")], "", "1.00 = - - 1.00");
    check(&[unsure("one"), answer("two", 40)], "", "0.40 = 0.40 - -");
    check(&[unsure("yes")], "", "- = - - -");
}

#[test]
fn who_failed_or_could_not_be_read_said_nothing() {
    let lost = [answer("queue", 80), Contribution::Failed, answer("queue", 60), Contribution::Unparsed];
    check(&lost, "AA", "0.88 = 0.70 1.00 1.00");
    let consensus = Consensus::of(&lost, &names("AA"));
    assert_eq!((consensus.answers, consensus.lost, consensus.votes), (2, 2, 2));
}

#[test]
fn nobody_answered_is_no_consensus() {
    check(&[], "", "- = - - -");
    check(&[Contribution::Failed, Contribution::Unparsed], "AAA", "- = - 1.00 -");
    assert!(!Consensus::of(&[Contribution::Failed], &names("AAA")).reaches(Share::ZERO));
}

#[test]
fn without_votes_it_is_never_enough_to_stop() {
    let sure = [answer("queue", 100), answer("queue", 100)];
    assert!(!Consensus::of(&sure, &[]).reaches(Share::ZERO));
    assert!(Consensus::of(&sure, &names("AA")).reaches(Share::ONE));
    assert!(!Consensus::of(&sure, &names("AB")).reaches(Share::of(81)));
    assert!(Consensus::of(&sure, &names("AB")).reaches(Share::of(80)));
}

#[test]
fn answers_are_the_same_whatever_their_dress() {
    for (one, two) in [
        ("42", " 42.0 "),
        ("42.", "42"),
        ("**42**", "`42`"),
        ("1,000.50", "1000.5"),
        (".5", "0.50"),
        ("-0", "0"),
        ("+7", "007"),
        ("−3", "-3.0"),
        ("Yes!", "yes"),
        ("The answer is 42.", "the  answer\nis \"42\""),
        ("(Paris)", "PARIS"),
        ("«Ja»", "ja"),
        ("**It is *so*.**", "it is so"),
        ("Größe", "GRÖSSE".replace("SS", "ß").as_str()),
    ] {
        assert!(same_answer(one, two), "{one:?} {two:?}");
    }
}

#[test]
fn answers_differ_where_there_is_doubt() {
    for (one, two) in [
        ("42", "-42"),
        ("42", "43"),
        ("42", "420"),
        ("4.2", "42"),
        ("42%", "42"),
        ("5!", "5"),
        ("3,14", "314"),
        ("1,00", "100"),
        (",5", "5"),
        ("yes", "no"),
        ("yes", "yes and no"),
        ("a b", "ab"),
        ("f(x)", "f x"),
        ("f()", "f"),
        ("(a) or (b)", "a) or (b"),
        ("1.2.3", "1.23"),
        ("", ""),
        (" ... ", "?"),
        ("\"\"", "''"),
    ] {
        assert!(!same_answer(one, two), "{one:?} {two:?}");
        assert!(!same_answer(two, one), "{two:?} {one:?}");
    }
}

fn ballots(text: &str) -> Vec<Ballot> {
    let ballot = |(number, ranking): (usize, &str)| Ballot {
        voter: name(format!("v{number}")),
        ranking: names(ranking),
        recused: Vec::new(),
        weight: 1 + 4 * u64::from(ranking.starts_with('C')),
        confidence: Share::CONFIDENCE,
        score: Score::default(),
    };
    text.split_whitespace().enumerate().map(ballot).collect()
}

fn called(method: VotingMethod, fallback: Fallback, text: &str) -> Option<Label> {
    let (candidates, ballots) = (names("ABC"), ballots(text));
    let rules = VotingRules { method, fallback, tie_break: None, minimum_votes: 1 };
    label(&candidates, &ballots, &elect(&candidates, &ballots, rules).unwrap()).unwrap()
}

#[test]
fn a_decision_is_called_what_it_is() {
    let cycle = "ABC ABC ABC ABC ABC BCA BCA BCA CAB CAB CAB CAB";
    for (method, fallback, text, expected) in [
        (VotingMethod::Borda, Fallback::Borda, "ABC AC A", Some(Label::Unanimous)),
        (VotingMethod::Unanimous, Fallback::Borda, "A A", Some(Label::Unanimous)),
        (VotingMethod::Condorcet, Fallback::Borda, "ABC ACB BCA", Some(Label::Majority)),
        (VotingMethod::Majority, Fallback::Borda, "A A B", Some(Label::Majority)),
        (VotingMethod::Weighted, Fallback::Borda, "A A B C", Some(Label::WeightedVoting)),
        (VotingMethod::Plurality, Fallback::Borda, "A A B C", Some(Label::Plurality)),
        (VotingMethod::Borda, Fallback::Borda, "ABC ABC BAC CAB", Some(Label::Borda)),
        (VotingMethod::Condorcet, Fallback::Borda, "AB AC BAC CAB CB", Some(Label::Condorcet)),
        (VotingMethod::Condorcet, Fallback::Borda, cycle, Some(Label::Borda)),
        (VotingMethod::Condorcet, Fallback::Schulze, cycle, Some(Label::Schulze)),
        (VotingMethod::Condorcet, Fallback::RankedPairs, cycle, Some(Label::RankedPairs)),
        (VotingMethod::Majority, Fallback::Borda, "A B", None),
        (VotingMethod::Unanimous, Fallback::Borda, "A B", None),
    ] {
        assert_eq!(called(method, fallback, text), expected, "{method} {fallback} of {text}");
    }
}

#[test]
fn without_votes_a_decision_is_called_nothing() {
    for method in VotingMethod::ALL {
        assert_eq!(called(*method, Fallback::Borda, ""), None, "{method}");
        assert_eq!(called(*method, Fallback::Borda, "A A A"), Some(Label::Unanimous), "{method}");
    }
    let (candidates, cast) = (names("ABC"), ballots("A A"));
    let rules =
        VotingRules { method: VotingMethod::Borda, fallback: Fallback::Borda, tie_break: None, minimum_votes: 1 };
    let elected = elect(&candidates, &cast, rules).unwrap();
    assert_eq!(label(&candidates, &[], &elected), Ok(None), "whatever is said of who won");
    assert!(label(&names("B"), &cast, &elected).is_err(), "these are ballots of another election");
}

proptest! {
    #[test]
    fn the_level_lies_between_its_parts(
        answers in prop::collection::vec(("[a-c]{4}( [a-c]{4}){0,2}", prop::option::of(0..=100u8)), 0..6),
        votes in "[ABC]{0,6}",
    ) {
        let contributions: Vec<Contribution<'_>> = answers
            .iter()
            .map(|(text, confidence)| Contribution::Answer { text, confidence: confidence.map(Share::of) })
            .collect();
        let consensus = Consensus::of(&contributions, &names(&votes));
        let parts: Vec<Share> =
            [consensus.confidence, consensus.agreement, consensus.overlap].into_iter().flatten().collect();
        prop_assert_eq!(consensus.agreement.is_some(), !votes.is_empty());
        prop_assert_eq!(consensus.level.is_some(), !answers.is_empty() && !parts.is_empty());
        if let Some(level) = consensus.level {
            prop_assert!(parts.iter().min().is_some_and(|least| *least <= level));
            prop_assert!(parts.iter().max().is_some_and(|most| *most >= level));
        }
        let mut turned = contributions.clone();
        turned.reverse();
        turned.push(Contribution::Failed);
        prop_assert_eq!(Consensus { lost: 0, ..Consensus::of(&turned, &names(&votes)) }, consensus);
    }

    #[test]
    fn sameness_has_no_direction_and_survives_dressing(one in "\\PC{0,12}", two in "[ 0-9.,!a'*-]{0,6}") {
        prop_assert_eq!(same_answer(&one, &two), same_answer(&two, &one));
        prop_assert_eq!(same_answer(&two, &two), same_answer(&two, &format!("  {two} \n")));
    }

    #[test]
    fn numbers_are_the_same_exactly_where_their_values_are(one in -2000..2000i32, two in -2000..2000i32) {
        let written = |number: i32| {
            format!("{}{}.{:02}0", if number < 0 { "-" } else { "+" }, number.abs() / 100, number.abs() % 100)
        };
        prop_assert_eq!(same_answer(&written(one), &written(two)), one == two);
    }
}
