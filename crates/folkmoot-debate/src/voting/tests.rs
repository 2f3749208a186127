use std::{cmp::Ordering, collections::BTreeMap};

use proptest::prelude::*;

use super::*;
use crate::agent::{Score, Share};

fn name(text: impl ToString) -> Name {
    text.to_string().parse().unwrap()
}

fn ballot(voter: impl ToString, ranking: &str) -> Ballot {
    Ballot {
        voter: name(voter),
        ranking: ranking.chars().map(name).collect(),
        recused: Vec::new(),
        weight: 1,
        confidence: Share::CONFIDENCE,
        score: Score::default(),
    }
}

/// `42 MNCK, 26 NCKM`: so many who vote so.
fn ballots(text: &str) -> Vec<Ballot> {
    let groups = text.split(", ").map(|group| group.split_once(' ').unwrap_or(("1", group)));
    let all = groups.flat_map(|(count, ranking)| std::iter::repeat_n(ranking, count.parse().unwrap()));
    all.enumerate().map(|(number, ranking)| ballot(format!("v{number}"), ranking)).collect()
}

fn candidates(ballots: &[Ballot]) -> Vec<Name> {
    let mut all: Vec<Name> = ballots.iter().flat_map(|ballot| ballot.ranking.clone()).collect();
    all.sort();
    all.dedup();
    all
}

fn rules(method: VotingMethod) -> VotingRules {
    VotingRules { method, fallback: Fallback::Schulze, tie_break: None, minimum_votes: 1 }
}

fn held(ballots: &[Ballot], rules: VotingRules) -> ElectionResult {
    elect(&candidates(ballots), ballots, rules).unwrap()
}

/// The winner, or why there is none.
fn said(elected: &ElectionResult) -> String {
    match (&elected.winner, elected.undecided) {
        (Some(winner), None) => winner.to_string(),
        (None, Some(reason)) => reason.to_string(),
        both => panic!("{both:?} is neither"),
    }
}

#[test]
fn known_elections_come_to_what_is_known() {
    for (text, plurality, borda, condorcet, schulze, ranked_pairs) in [
        ("42 MNCK, 26 NCKM, 15 CKNM, 17 KCNM", "M", "N", "N", "N", "N"),
        ("1 ABC, 7 ACB, 7 BCA, 6 CBA", "A", "C", "C", "C", "C"),
        ("23 ABC, 17 BCA, 2 BAC, 10 CAB, 8 CBA", "A", "B", "", "B", "B"),
        ("30 ABC, 1 ACB, 10 CAB, 1 CBA, 10 BCA, 29 BAC", "B", "B", "A", "A", "A"),
        ("5 ACBED, 5 ADECB, 8 BEDAC, 3 CABED, 7 CAEBD, 2 CBADE, 7 DCEBA, 8 EBADC", "C", "E", "", "E", "A"),
        ("3 ABC, 2 BCA", "A", "B", "A", "A", "A"),
        ("1 ABC, 1 BCA, 1 CAB", "tie", "tie", "", "tie", "tie"),
        ("1 AB, 1 BA", "tie", "tie", "", "tie", "tie"),
    ] {
        let ballots = ballots(text);
        assert_eq!(said(&held(&ballots, rules(VotingMethod::Plurality))), plurality, "{text}");
        assert_eq!(said(&held(&ballots, rules(VotingMethod::Borda))), borda, "{text}");
        let pairwise = Pairwise::of(&candidates(&ballots), &ballots);
        assert_eq!(pairwise.winner().map_or_else(String::new, |name| name.to_string()), condorcet, "{text}");
        for (fallback, expected) in [(Fallback::Schulze, schulze), (Fallback::RankedPairs, ranked_pairs)] {
            let elected = held(&ballots, VotingRules { fallback, ..rules(VotingMethod::Condorcet) });
            assert_eq!(said(&elected), expected, "{text} by {fallback}");
            assert_eq!(elected.fallback.is_some(), condorcet.is_empty(), "{text}");
        }
    }
}

#[test]
fn points_are_what_is_known() {
    let elected = held(&ballots("42 MNCK, 26 NCKM, 15 CKNM, 17 KCNM"), rules(VotingMethod::Borda));
    let points: Vec<(String, u64)> =
        elected.points.iter().map(|(name, has)| (name.to_string(), has.points / 2)).collect();
    let expected = [("C", 173), ("K", 107), ("M", 126), ("N", 194)].map(|(name, points)| (name.to_owned(), points));
    assert_eq!(points, expected);
}

#[test]
fn a_condorcet_tie_is_no_cycle() {
    let fallback_of = |text: &str| held(&ballots(text), rules(VotingMethod::Condorcet)).fallback_reason;
    assert_eq!(fallback_of("1 ABC, 1 BCA, 1 CAB"), Some(VotingReason::CondorcetCycle));
    assert_eq!(fallback_of("1 AB, 1 BA"), Some(VotingReason::CondorcetTie));
    assert_eq!(fallback_of("2 AB, 1 BA"), None);
}

#[test]
fn no_votes_are_no_decision_and_never_unanimous() {
    let all = [name("A"), name("B")];
    for method in VotingMethod::ALL {
        let nobody = elect(&all, &[], rules(*method)).unwrap();
        assert_eq!((nobody.winner, nobody.undecided), (None, Some(VotingReason::NoVotes)), "{method}");
        let blank = elect(&all, &[ballot("v", "")], rules(*method)).unwrap();
        assert_eq!((blank.winner, blank.undecided), (None, Some(VotingReason::NoVotes)), "{method}");
        let few = elect(&all, &[ballot("v", "A")], VotingRules { minimum_votes: 2, ..rules(*method) }).unwrap();
        assert_eq!((few.winner, few.undecided), (None, Some(VotingReason::TooFewVotes)), "{method}");
    }
}

#[test]
fn a_majority_is_more_than_half_and_unanimous_is_all() {
    let say = |text: &str, method| said(&held(&ballots(text), rules(method)));
    assert_eq!(say("2 AB, 1 BA", VotingMethod::Majority), "A");
    assert_eq!(say("2 AB, 2 BA", VotingMethod::Majority), "no_majority");
    assert_eq!(say("2 AB, 1 BA, 1 CA", VotingMethod::Majority), "no_majority");
    assert_eq!(say("3 AB", VotingMethod::Unanimous), "A");
    assert_eq!(say("3 AB, 1 BA", VotingMethod::Unanimous), "not_unanimous");
    assert_eq!(say("1 AB", VotingMethod::Unanimous), "A", "one alone agrees");
}

#[test]
fn first_choices_are_of_ballots_that_are_counted() {
    let choices = |candidates: &str, ballots: &[Ballot]| {
        let candidates: Vec<Name> = candidates.chars().map(name).collect();
        first_choices(&candidates, ballots).map(|names| names.iter().map(Name::as_str).collect::<String>())
    };
    let ballots = [ballot("w", "BA"), ballot("A", "AB"), ballot("v", "")];
    assert_eq!(choices("AB", &ballots), Ok("AB".to_owned()));
    assert_eq!(choices("ABC", &ballots), Ok("BB".to_owned()), "nobody votes for their own from three up");
    assert!(choices("A", &ballots).is_err());
}

#[test]
fn a_weight_counts_as_so_many_ballots() {
    let mut weighted = vec![ballot("x", "AB"), ballot("y", "BA"), ballot("z", "BA")];
    weighted[0].weight = 3;
    assert_eq!(said(&held(&weighted, rules(VotingMethod::Weighted))), "A");
    weighted[0].weight = 2;
    assert_eq!(said(&held(&weighted, rules(VotingMethod::Weighted))), "tie");
    weighted.iter_mut().for_each(|ballot| ballot.weight = 0);
    assert_eq!(said(&held(&weighted, rules(VotingMethod::Weighted))), "no_votes");
    // What differs by a hundredth does not differ.
    (weighted[0].weight, weighted[1].weight) = (1_000, 990);
    assert_eq!(said(&held(&weighted, rules(VotingMethod::Weighted))), "tie");
    weighted[1].weight = 989;
    assert_eq!(said(&held(&weighted, rules(VotingMethod::Weighted))), "A");
}

#[test]
fn nobody_elects_themselves_where_there_are_three() {
    let all = ["A", "B", "C"].map(name);
    let selfish = [ballot("A", "ABC"), ballot("B", "BAC"), ballot("C", "CAB")];
    let elected = elect(&all, &selfish, rules(VotingMethod::Plurality)).unwrap();
    assert_eq!((said(&elected), elected.points[&name("A")].points), ("A".to_owned(), 2));
    // Each was judged by two: whoever has fewer judges has no fewer points for it.
    let partly = [ballot("A", "BC"), ballot("v", "ABC")];
    let points = elect(&all, &partly, rules(VotingMethod::Borda)).unwrap().points;
    assert_eq!(points[&name("A")], Points { points: 4, of: 1 });
    assert_eq!(points[&name("B")], Points { points: 4, of: 2 });
    // Two endorse or reject, and may each be for their own.
    let two = elect(&all[..2], &[ballot("A", "A"), ballot("B", "A")], rules(VotingMethod::Unanimous)).unwrap();
    assert_eq!(said(&two), "A");
}

#[test]
fn a_ballot_that_cannot_be_counted_is_refused() {
    let all = ["A", "B"].map(name);
    let refused = |ballots: &[Ballot]| elect(&all, ballots, rules(VotingMethod::Borda)).unwrap_err().to_string();
    assert_eq!(refused(&[ballot("v", "AA")]), "v's ballot names A twice");
    assert_eq!(refused(&[ballot("v", "AX")]), "v's ballot names X, who is no candidate");
    assert_eq!(refused(&[ballot("v", "A"), ballot("v", "B")]), "there are two ballots of v");
    let twice = elect(&[name("A"), name("A")], &[], rules(VotingMethod::Borda)).unwrap_err();
    assert_eq!(twice.to_string(), "A stands twice");
}

#[test]
fn a_tie_is_broken_by_a_rule_that_is_recorded_or_stays_one() {
    let mut tied = vec![ballot("v", "AB"), ballot("w", "BA")];
    let broken = |ballots: &[Ballot], rule| {
        let elected = held(ballots, VotingRules { tie_break: Some(rule), ..rules(VotingMethod::Plurality) });
        (said(&elected), elected.tie_break, elected.first.len())
    };
    for rule in TieBreak::ALL {
        assert_eq!(broken(&tied, *rule), ("tie".to_owned(), None, 2), "{rule} does not tell them apart");
    }
    tied[1].confidence = Share::ONE;
    let sure = (("B".to_owned()), Some(TieBreak::HighestConfidence), 2);
    assert_eq!(broken(&tied, TieBreak::HighestConfidence), sure);
    tied[0].score = Score::tenths(90).unwrap();
    assert_eq!(broken(&tied, TieBreak::LeaderVote), ("A".to_owned(), Some(TieBreak::LeaderVote), 2));
    let places = ballots("2 ABC, 1 ACB, 2 BCA");
    assert_eq!(said(&held(&places, rules(VotingMethod::Borda))), "tie");
    let by_votes = held(&places, VotingRules { tie_break: Some(TieBreak::MostVotes), ..rules(VotingMethod::Borda) });
    assert_eq!(
        (said(&by_votes), by_votes.tie_break, by_votes.first.len()),
        ("A".to_owned(), Some(TieBreak::MostVotes), 2)
    );
}

#[test]
fn the_seed_chooses_by_the_number_of_voters() {
    let chosen: Vec<&str> = (1..=7).map(|voters| VotingMethod::for_voters(voters).word()).collect();
    assert_eq!(chosen, ["unanimous", "unanimous", "weighted", "weighted", "weighted", "borda", "borda"]);
}

/// By the definitions alone, and in another way: what the rules must come to.
mod definitions {
    use super::*;

    pub fn prefers(ballot: &Ballot, one: &Name, two: &Name) -> bool {
        let place = |name: &Name| ballot.ranking.iter().position(|ranked| ranked == name);
        match (place(one), place(two)) {
            (Some(one), Some(two)) => one < two,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    pub fn margin(ballots: &[Ballot], one: &Name, two: &Name) -> i64 {
        let count = |one, two| ballots.iter().filter(|ballot| prefers(ballot, one, two)).count() as i64;
        count(one, two) - count(two, one)
    }

    /// Strictly below, and half of the tied, doubled.
    pub fn borda(all: &[Name], ballots: &[Ballot], one: &Name) -> u64 {
        let mut points = 0;
        for ballot in ballots {
            for two in all.iter().filter(|two| *two != one) {
                points += match (prefers(ballot, one, two), prefers(ballot, two, one)) {
                    (true, _) => 2,
                    (false, false) => 1,
                    (false, true) => 0,
                };
            }
        }
        points
    }

    /// Over every chain without a repetition.
    pub fn strongest(all: &[Name], ballots: &[Ballot], path: &mut Vec<Name>, to: &Name) -> i64 {
        let from = path.last().unwrap().clone();
        let mut best = margin(ballots, &from, to).max(0);
        for next in all {
            let step = margin(ballots, &from, next);
            if next != to && !path.contains(next) && step > 0 {
                path.push(next.clone());
                best = best.max(step.min(strongest(all, ballots, path, to)));
                path.pop();
            }
        }
        best
    }

    /// The order of all candidates in which no victory that is not locked is greater than those
    /// that keep it out; by trying every order from the greatest victory down. Only where no two
    /// margins are equal.
    pub fn ranked_pairs(all: &[Name], ballots: &[Ballot]) -> Option<Name> {
        let mut pairs: Vec<(i64, &Name, &Name)> = Vec::new();
        for one in all {
            for two in all {
                let by = margin(ballots, one, two);
                if by > 0 {
                    pairs.push((by, one, two));
                }
            }
        }
        pairs.sort_by_key(|(by, ..)| std::cmp::Reverse(*by));
        if pairs.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let mut orders = permutations(all);
        for (_, one, two) in pairs {
            let place = |order: &[Name], name: &Name| order.iter().position(|other| other == name);
            let kept: Vec<Vec<Name>> =
                orders.iter().filter(|order| place(order, one) < place(order, two)).cloned().collect();
            if !kept.is_empty() {
                orders = kept;
            }
        }
        let mut firsts: Vec<Name> = orders.into_iter().map(|order| order[0].clone()).collect();
        firsts.sort();
        firsts.dedup();
        <[Name; 1]>::try_from(firsts).ok().map(|[only]| only)
    }

    fn permutations(all: &[Name]) -> Vec<Vec<Name>> {
        if all.is_empty() {
            return vec![Vec::new()];
        }
        let mut found = Vec::new();
        for (at, first) in all.iter().enumerate() {
            let mut rest = all.to_vec();
            rest.remove(at);
            found.extend(permutations(&rest).into_iter().map(|rest| [vec![first.clone()], rest].concat()));
        }
        found
    }
}

/// Up to five candidates and nine voters who rank some of them.
fn elections() -> impl Strategy<Value = (Vec<Name>, Vec<Ballot>)> {
    (2usize..=5).prop_flat_map(|count| {
        let all: String = "ABCDE".chars().take(count).collect();
        let shuffled = Just(all.chars().collect::<Vec<char>>()).prop_shuffle();
        let ranking = (shuffled, 1..=count).prop_map(|(order, kept)| order.into_iter().take(kept).collect::<String>());
        let names: Vec<Name> = all.chars().map(name).collect();
        (Just(names), prop::collection::vec(ranking, 1..=9)).prop_map(|(names, rankings)| {
            let ballots = rankings.iter().enumerate().map(|(number, ranking)| ballot(format!("v{number}"), ranking));
            (names, ballots.collect())
        })
    })
}

proptest! {
    #[test]
    fn every_method_does_what_its_definition_says((all, ballots) in elections(), rotation in 0usize..9) {
        let run = |rules| elect(&all, &ballots, rules).unwrap();
        let borda = run(rules(VotingMethod::Borda));
        for one in &all {
            prop_assert_eq!(borda.points[one].points, definitions::borda(&all, &ballots, one));
        }
        let best = all.iter().map(|one| definitions::borda(&all, &ballots, one)).max().unwrap();
        let mut first = all.clone();
        first.retain(|one| definitions::borda(&all, &ballots, one) == best);
        prop_assert_eq!(&borda.first, &first);

        let pairwise = Pairwise::of(&all, &ballots);
        let beats_all = |one: &&Name| all.iter().filter(|two| two != one).all(|two| definitions::margin(&ballots, one, two) > 0);
        let winner = all.iter().find(beats_all).cloned();
        prop_assert_eq!(pairwise.winner(), winner.clone());

        let strength = |one: &Name, two: &Name| definitions::strongest(&all, &ballots, &mut vec![one.clone()], two);
        let mut schulze = all.clone();
        schulze.retain(|one| all.iter().filter(|two| *two != one).all(|two| strength(one, two) >= strength(two, one)));
        prop_assert_eq!(pairwise.schulze(), schulze);

        if let Some(expected) = definitions::ranked_pairs(&all, &ballots) {
            prop_assert_eq!(pairwise.ranked_pairs(), vec![expected]);
        }
        // Whoever beats all wins by every one of these.
        if let Some(winner) = winner {
            prop_assert_eq!(pairwise.schulze(), vec![winner.clone()]);
            prop_assert_eq!(pairwise.ranked_pairs(), vec![winner]);
        }
        let mut firsts: BTreeMap<&Name, usize> = BTreeMap::new();
        ballots.iter().for_each(|ballot| *firsts.entry(&ballot.ranking[0]).or_default() += 1);
        let most = firsts.values().max().copied().unwrap();
        let expected: Vec<Name> = firsts.iter().filter(|(_, count)| **count == most).map(|(name, _)| (*name).clone()).collect();
        prop_assert_eq!(run(rules(VotingMethod::Plurality)).first, expected);

        // Neither the order of ballots nor that of candidates changes anything.
        for method in VotingMethod::ALL {
            for fallback in Fallback::ALL {
                let rules = VotingRules { fallback: *fallback, tie_break: Some(TieBreak::MostVotes), ..rules(*method) };
                let (mut other, mut turned) = (ballots.clone(), all.clone());
                other.rotate_left(rotation % ballots.len());
                turned.reverse();
                prop_assert_eq!(elect(&turned, &other, rules).unwrap(), run(rules));
            }
        }
    }

    #[test]
    fn points_compare_as_fractions(a in 0u64..50, b in 1u64..9, c in 0u64..50, d in 1u64..9) {
        let (one, two) = (Points { points: a, of: b }, Points { points: c, of: d });
        let expected = (a * d).cmp(&(c * b));
        prop_assert_eq!(one.compare(two), expected);
        prop_assert_eq!(Points::default().compare(one), Ordering::Less);
    }
}

#[test]
fn whoever_was_not_shown_an_answer_does_not_rank_it_last() {
    let candidates = ["a", "b", "c"].map(name).to_vec();
    let mut ballots = vec![ballot("v1", "ab"), ballot("v2", "bc"), ballot("v3", "cb")];
    let borda = |ballots: &[Ballot]| {
        let elected = elect(&candidates, ballots, rules(VotingMethod::Borda)).unwrap();
        elected.points.into_iter().map(|(name, has)| format!("{name} {}/{}", has.points, has.of)).collect::<Vec<_>>()
    };
    assert_eq!(borda(&ballots), ["a 4/3", "b 8/3", "c 6/3"]);
    ballots[1].recused = vec![name("a")];
    assert_eq!(borda(&ballots), ["a 4/2", "b 6/3", "c 4/3"]);
}
