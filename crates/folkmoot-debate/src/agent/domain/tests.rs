use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Domain, DomainKeyword, Guess, KEYWORDS};

fn guessed(topic: &str) -> &'static str {
    Domain::guess(topic).domain.word()
}

#[test]
fn a_topic_is_guessed_by_its_words() {
    let topics = [
        ("Write a function that parses RFC 3339 dates", "code"),
        ("Is this login form open to SQL injection or CSRF?", "security"),
        ("Split the monolith into services: where are the boundaries?", "architecture"),
        ("The nightly test crashes with a SEGFAULT", "debug"),
        ("Make the parser faster: its latency doubled", "optimization"),
        ("Prove that the sum of two odd numbers is even", "reasoning"),
        ("Where shall we have lunch?", "general"),
        ("", "general"),
    ];
    for (topic, domain) in topics {
        assert_eq!(guessed(topic), domain, "{topic}");
    }
}

#[test]
fn only_whole_words_count() {
    for topic in ["debugger-less", "authored", "coder", "breakfast", "latestclass", "Übersecure"] {
        assert_eq!(Domain::guess(topic), Guess { domain: Domain::General, reasons: vec![] }, "{topic}");
    }
    assert_eq!(guessed("(bug)"), "debug");
    assert_eq!(guessed("sql_injection"), "security");
}

#[test]
fn the_reasons_name_every_word_that_was_known_also_those_that_lost() {
    let reason = |word, domain| DomainKeyword { word, domain };
    let reasons = [reason("crash", Domain::Debug), reason("function", Domain::Code), reason("panic", Domain::Debug)];
    let guess = Domain::guess("Crash! The function panics: a panic, crash, crash").reasons;
    assert_eq!(guess, [&reasons[..], &[reason("panics", Domain::Debug)]].concat());
}

#[test]
fn a_word_said_often_counts_once() {
    assert_eq!(guessed("code code code code with a bug and a crash"), "debug");
}

#[test]
fn of_equals_the_words_of_code_say_the_least() {
    assert_eq!(guessed("python password"), "security");
    assert_eq!(guessed("password python"), "security");
    assert_eq!(guessed("slow exploit"), "security");
    assert_eq!(guessed("slow crash"), "debug");
}

#[test]
fn each_keyword_is_one_lower_case_word_of_one_domain() {
    let mut seen = BTreeSet::new();
    for word in KEYWORDS.iter().flat_map(|(_, words)| words.split_whitespace()) {
        assert!(seen.insert(word), "{word} is there twice");
        assert!(word.chars().all(|c| c.is_ascii_lowercase()), "{word} can never match");
    }
    let domains: BTreeSet<Domain> = KEYWORDS.iter().map(|(domain, _)| *domain).collect();
    let others: BTreeSet<Domain> = Domain::ALL.iter().copied().filter(|domain| *domain != Domain::General).collect();
    assert_eq!(domains, others);
}

proptest! {
    #[test]
    fn neither_case_nor_order_nor_punctuation_matters(
        mut words in prop::collection::vec(prop::sample::select(vec!["bug", "Secure", "code", "tea", "PROOF"]), 0..8),
    ) {
        let said = words.join(" ");
        let guess = Domain::guess(&said);
        words.reverse();
        prop_assert_eq!(&Domain::guess(&words.join(", ").to_uppercase()), &guess);
        prop_assert_eq!(&Domain::guess(&words.join("_").to_lowercase()), &guess);
    }

    #[test]
    fn no_text_is_too_strange(topic in any::<String>()) {
        let guess = Domain::guess(&topic);
        prop_assert_eq!(guess.domain == Domain::General, guess.reasons.is_empty());
    }
}
