use proptest::prelude::*;

use super::*;
use crate::agent::Score;

fn voice(model: &str) -> ModelRef<'_> {
    ModelRef { provider: "p", model }
}

/// Answers as `model:answer`.
fn answers(said: &str) -> String {
    let answers: Vec<(&str, ModelRef<'_>)> = said
        .split_whitespace()
        .map(|word| word.split_once(':').map(|(model, answer)| (answer, voice(model))).unwrap())
        .collect();
    EffectiveVotes::of_answers(&answers).to_string()
}

fn ballot(voter: &str, ranking: &str) -> Ballot {
    Ballot {
        voter: voter.parse().unwrap(),
        ranking: ranking.chars().map(|letter| letter.to_string().parse().unwrap()).collect(),
        recused: Vec::new(),
        weight: 1,
        confidence: Share::CONFIDENCE,
        score: Score::default(),
    }
}

/// Ballots as `model:voter:ranking`.
fn ballots(said: &str) -> String {
    let cast: Vec<(&str, Ballot)> = said
        .split_whitespace()
        .map(|word| {
            let parts: Vec<&str> = word.split(':').collect();
            (parts[0], ballot(parts[1], parts[2]))
        })
        .collect();
    let cast: Vec<(&Ballot, ModelRef<'_>)> = cast.iter().map(|(model, ballot)| (ballot, voice(model))).collect();
    EffectiveVotes::of_ballots(&cast).to_string()
}

#[test]
fn copies_of_one_model_that_agree_are_one_vote() {
    assert_eq!(answers("a:42"), "1.00");
    assert_eq!(answers("a:42 a:42"), "1.00");
    assert_eq!(answers(&"a:42 ".repeat(16)), "1.00");
    assert_eq!(ballots("a:v:ABC a:w:ABC a:x:ABC"), "1.00");
}

#[test]
fn different_models_that_agree_are_more_and_fewer_than_they_are() {
    assert_eq!(answers("a:42 b:42"), "1.25");
    assert_eq!(answers("a:42 b:42.0 c:42"), "1.36");
    assert_eq!(answers("a:1 b:2 c:3"), "3.00", "nobody repeats anybody");
    assert_eq!(answers("a:1 a:2 a:3"), "1.36", "copies are no better than two families, whatever they say");
    assert_eq!(answers("a:1 b:1 c:2"), "2.14");
}

#[test]
fn another_provider_is_another_voice() {
    let (one, two) = (ModelRef { provider: "p", model: "m" }, ModelRef { provider: "q", model: "m" });
    let effective = EffectiveVotes::of_answers(&[("yes", one), ("yes", two), ("yes", two)]);
    assert_eq!(effective, EffectiveVotes { votes: 121, voters: 3, models: 2 });
}

#[test]
fn ballots_agree_as_far_as_they_order_candidates_alike() {
    assert_eq!(ballots("a:v:ABC b:w:ABC"), "1.25");
    assert_eq!(ballots("a:v:ABC b:w:CBA"), "2.00");
    // Two pairs of three: r = 0.6 * 0.66.
    assert_eq!(ballots("a:v:ABC b:w:BAC"), "1.43");
    assert_eq!(ballots("a:v:A b:w:B"), "2.00");
    assert_eq!(ballots("a:v:A b:w:A"), "1.25");
    assert_eq!(ballots("a:v:AB b:w:A"), "1.25", "who is left out comes last");
    // A and B cannot rank themselves; on C and D they agree.
    assert_eq!(ballots("a:A:BCD b:B:ACD"), "1.25");
    assert_eq!(ballots("a:A:BCD b:B:ADC"), "2.00");
    assert_eq!(ballots("a:A:BC b:B:AC"), "1.25", "nothing tells them apart");
}

#[test]
fn nobody_is_worth_nothing() {
    assert_eq!(EffectiveVotes::of_answers(&[]), EffectiveVotes { votes: 0, voters: 0, models: 0 });
    assert!(EffectiveVotes::of_answers(&[]).is_few());
}

#[test]
fn few_votes_are_less_than_one_and_a_half() {
    let few = |votes| EffectiveVotes { votes, voters: 9, models: 7 }.is_few();
    assert!(few(149) && !few(150));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn votes_are_worth_at_least_one_and_at_most_as_many_as_they_are(
        said in prop::collection::vec(("[ab]", "[1-3]"), 1..=25),
    ) {
        let voters: Vec<(&str, ModelRef<'_>)> = said.iter().map(|(model, answer)| (answer.as_str(), voice(model))).collect();
        let effective = EffectiveVotes::of_answers(&voters);
        prop_assert!((100..=100 * effective.voters).contains(&effective.votes));
        let turned: Vec<(&str, ModelRef<'_>)> = voters.iter().rev().copied().collect();
        prop_assert_eq!(EffectiveVotes::of_answers(&turned), effective, "the order does not matter");
        // One more who repeats somebody of the same model adds at most that somebody's error again.
        let mut copied = voters.clone();
        copied.push(voters[0]);
        prop_assert!(EffectiveVotes::of_answers(&copied).votes < effective.votes + 100);
        // The same answers from models of their own are worth no less.
        let names: Vec<String> = (0..voters.len()).map(|number| format!("m{number}")).collect();
        let apart: Vec<(&str, ModelRef<'_>)> = voters.iter().zip(&names).map(|((said, _), name)| (*said, voice(name))).collect();
        prop_assert!(EffectiveVotes::of_answers(&apart).votes >= effective.votes);
    }
}
