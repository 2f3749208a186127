use proptest::prelude::*;

use super::*;

/// `complexity ambiguity clarify?`, and the reasons as `sign by`.
fn check(topic: &str, language: Option<&str>, sources: &[&str], expected: &str, reasons: &str) {
    let estimate = Estimate::of(topic, language, sources);
    let asks = if estimate.needs_clarification() { "ask" } else { "go" };
    assert_eq!(format!("{} {} {asks}", estimate.complexity, estimate.ambiguity), expected, "{topic}: {estimate:#?}");
    let said: Vec<String> = estimate.reasons.iter().map(|reason| format!("{} {:+}", reason.sign, reason.by)).collect();
    assert_eq!(said.join(", "), reasons, "{topic}");
}

#[test]
fn a_trivial_topic_goes_ahead() {
    check("What is 2 + 2?", None, &[], "0.10 0.15 go", "numbers -5");
    check(
        "Write a function that reverses a string",
        Some("rust"),
        &[],
        "0.05 0.10 go",
        "easy_words -10, language +5, language -10",
    );
    check("Hello", None, &[], "0.00 0.45 go", "easy_words -10, short +25");
}

#[test]
fn a_vague_and_complex_topic_is_asked_about_first() {
    check(
        "Build a better distributed system that is fast and somehow handles various failures, maybe with a database or a queue or \
         something",
        None,
        &[],
        "0.65 0.80 ask",
        "hard_words +50, vague_words +50, length +2, parts +3, alternatives +10",
    );
    check(
        "Improve the cache and maybe the parser",
        None,
        &[],
        "0.33 0.40 ask",
        "hard_words +20, vague_words +20, parts +3",
    );
    check("Improve the greeting, maybe", None, &[], "0.00 0.40 go", "easy_words -10, vague_words +20");
    check("Make it better", None, &[], "0.10 0.75 ask", "vague_words +10, pointing +20, short +25");
}

#[test]
fn a_complex_topic_that_says_what_it_wants_goes_ahead() {
    check(
        "Implement a concurrent queue. It must hold at most 1024 items of 64 bytes; `push` must never block, and returns false \
         when the queue is full. Given 8 threads, throughput is at least 10 million a second, with a latency under 5 milliseconds.",
        Some("rust"),
        &[],
        "0.75 0.00 go",
        "hard_words +50, numbers -20, constraints -30, names -6, length +7, parts +3, language +5, language -10",
    );
}

#[test]
fn what_comes_with_a_topic_is_what_it_points_to() {
    check("Fix this", None, &[], "0.10 0.65 ask", "pointing +20, short +25");
    check("Fix this", None, &["fn main() {}"], "0.10 0.35 go", "short +25, sources -10");
    let long = "word ".repeat(1000);
    check("Fix this", None, &[&long, &long], "0.20 0.35 go", "sources +10, short +25, sources -10");
    check("Fix this", None, &["  "], "0.10 0.65 ask", "pointing +20, short +25");
}

#[test]
fn parts_questions_and_names_count() {
    check(
        "Decide:\n- which index?\n- which key?\n2) which page size?",
        None,
        &[],
        "0.25 0.25 go",
        "numbers -5, parts +15, questions +10",
    );
    check(
        "Rename sort_by, Vec::push, main.rs, f() and `x`",
        None,
        &[],
        "0.03 0.02 go",
        "easy_words -10, names -18, parts +3",
    );
    check(
        "Write it e.g. so, i.e. now. Then stop 3.5 or 1.x ...",
        None,
        &[],
        "0.10 0.15 go",
        "numbers -10, alternatives +5",
    );
}

#[test]
fn words_that_counted_are_named_and_are_few() {
    let reason = |topic: &str, sign| {
        Estimate::of(topic, None, &[]).reasons.into_iter().find(|reason| reason.sign == sign).map(|reason| reason.words)
    };
    assert_eq!(reason("a Better, NICER better thing", Sign::VagueWords), Some(vec!["better".into(), "thing".into()]));
    assert_eq!(reason(HARD, Sign::HardWords).map(|words| words.len()), Some(10));
    assert_eq!(reason("the betterment of anything", Sign::VagueWords), None, "whole words only");
}

#[test]
fn each_list_says_its_words_once_and_no_word_pulls_both_ways() {
    for lists in [[HARD, EASY], [VAGUE, CONSTRAINTS]] {
        let all: Vec<&str> = lists.iter().flat_map(|list| list.split_whitespace()).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase())));
    }
}

proptest! {
    #[test]
    fn every_estimate_is_the_sum_of_its_reasons(
        topic in "\\PC{0,120}",
        language in prop::option::of("[a-z]{0,4}"),
        source in "\\PC{0,40}",
    ) {
        let estimate = Estimate::of(&topic, language.as_deref(), &[&source]);
        let sum = |measure| -> i16 {
            estimate.reasons.iter().filter(|reason| reason.measure == measure).map(|reason| reason.by).sum()
        };
        prop_assert_eq!(i16::from(estimate.complexity.as_hundredths()), (10 + sum(Measure::Complexity)).clamp(0, 100));
        prop_assert_eq!(i16::from(estimate.ambiguity.as_hundredths()), (20 + sum(Measure::Ambiguity)).clamp(0, 100));
        prop_assert_eq!(&estimate, &Estimate::of(&topic, language.as_deref(), &[&source]));
        let written = serde_json::to_string(&estimate).unwrap();
        prop_assert_eq!(serde_json::from_str::<Estimate>(&written).unwrap(), estimate);
    }
}
