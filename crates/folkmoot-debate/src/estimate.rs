//! Estimates from its words how complex and how ambiguous a topic is, before any model is asked.
//!
//! Complexity starts at 0.10 and ambiguity at 0.20. Each [`Sign`] adds or subtracts hundredths, as
//! its documentation says, and the sum is limited to between 0 and 1. The estimate lists every sign
//! that counted, so that people who disagree can see why. The lists of words are English. For a
//! topic in another language only the signs count that need none of these words, such as its
//! length, list items, numbers, names, questions and sources.

use folkmoot_core::vocabulary;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::words::words;
use crate::agent::Share;

#[cfg(test)]
mod tests;

/// How complex and how ambiguous a topic seems, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// How much there is to do, and how much can go wrong.
    pub complexity: Share,
    /// How much of what is wanted has to be guessed.
    pub ambiguity: Share,
    /// Every sign that counted.
    pub reasons: Vec<EstimateFactor>,
}

/// One reason why an estimate is higher or lower.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EstimateFactor {
    pub measure: Measure,
    pub sign: Sign,
    /// How many hundredths it adds, or subtracts if negative.
    pub by: i16,
    /// The first ten words that counted, if the sign counts words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
}

vocabulary! {
    /// What is estimated.
    pub enum Measure {
        /// How much there is to do.
        Complexity = "complexity",
        /// How much has to be guessed.
        Ambiguity = "ambiguity",
    }
}

vocabulary! {
    /// What raises or lowers an estimate. The numbers are hundredths.
    pub enum Sign {
        /// More complex by 1 for each 4 words after the first 12, up to 25.
        Length = "length",
        /// More complex by 5 for each item of a list and 3 for each "and", up to 20.
        Parts = "parts",
        /// More complex by 10 for each word that suggests a hard task, up to 50.
        HardWords = "hard_words",
        /// Less complex by 10 for each word that suggests an easy task, up to 20.
        EasyWords = "easy_words",
        /// More complex by 1 for each 200 words of the sources, up to 15. Less ambiguous by 10 if
        /// there are any sources.
        Sources = "sources",
        /// A language is named: more complex by 5, less ambiguous by 10.
        Language = "language",
        /// More ambiguous by 10 for each word that leaves things open, up to 50.
        VagueWords = "vague_words",
        /// More ambiguous by 5 for each question after the first, up to 15.
        Questions = "questions",
        /// More ambiguous by 5 for each "or", up to 10.
        Alternatives = "alternatives",
        /// More ambiguous by 25 if the topic has fewer than four words and is shorter than 30
        /// bytes.
        Short = "short",
        /// More ambiguous by 20 if the topic has at most six words and no sources, and one of the
        /// words, such as "it", points to something that is not there.
        Pointing = "pointing",
        /// Less ambiguous by 5 for each number, up to 20.
        Numbers = "numbers",
        /// Less ambiguous by 6 for each word that states a condition, up to 30.
        Constraints = "constraints",
        /// Less ambiguous by 6 for each name of code or of a file, up to 18.
        Names = "names",
    }
}

const COMPLEXITY_BASE: i16 = 10;
const AMBIGUITY_BASE: i16 = 20;
/// Above this ambiguity it is unknown what is wanted.
pub(super) const AMBIGUOUS: Share = Share::of(60);
/// From this ambiguity on it is worth asking if the task is complex.
const UNCLEAR: Share = Share::of(40);
/// From this complexity on a wrong guess is expensive.
const DEAR: Share = Share::of(30);

impl Estimate {
    /// Estimates a topic. `language` is the language that the answer is to be written in, and
    /// `sources` are the texts that come with the topic.
    pub fn of(topic: &str, language: Option<&str>, sources: &[&str]) -> Self {
        let reasons = reasons(topic, language, sources);
        let sum = |measure, base: i16| {
            let by = reasons.iter().filter(|reason| reason.measure == measure).map(|reason| reason.by);
            let hundredths = by.fold(base, i16::saturating_add).clamp(0, 100);
            u8::try_from(hundredths)
                .ok()
                .and_then(|hundredths| Share::hundredths(hundredths).ok())
                .unwrap_or(Share::ONE)
        };
        Self {
            complexity: sum(Measure::Complexity, COMPLEXITY_BASE),
            ambiguity: sum(Measure::Ambiguity, AMBIGUITY_BASE),
            reasons,
        }
    }

    /// Whether to ask questions before anybody answers: always above an ambiguity of 0.60, and from
    /// 0.40 on if the complexity is at least 0.30.
    pub fn needs_clarification(&self) -> bool {
        self.ambiguity > AMBIGUOUS || (self.ambiguity >= UNCLEAR && self.complexity >= DEAR)
    }
}

fn reasons(topic: &str, language: Option<&str>, sources: &[&str]) -> Vec<EstimateFactor> {
    use Measure::{Ambiguity, Complexity};
    let all: Vec<&str> = topic.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let distinct = words(topic, 0);
    let said = |list: &str| -> Vec<String> {
        list.split_whitespace().filter(|word| distinct.contains(*word)).map(str::to_owned).collect()
    };
    let times = |word: &str| all.iter().filter(|said| said.eq_ignore_ascii_case(word)).count();
    let tokens = topic.split_whitespace().map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()));
    let numbers: BTreeSet<String> =
        tokens.filter(|token| token.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned).collect();
    let names: BTreeSet<String> = topic.split_whitespace().filter(|token| is_name(token)).map(str::to_owned).collect();
    let source_words: usize = sources.iter().map(|source| source.split_whitespace().count()).sum();
    let has_sources = source_words > 0;
    let has_language = language.is_some_and(|language| !language.trim().is_empty());
    let short = all.len() < 4 && topic.trim().len() < 30;
    let pointing = if all.len() <= 6 && !has_sources { said("it this that them these those") } else { Vec::new() };

    let mut reasons = Vec::new();
    let mut add = |measure, sign, each: i16, count: usize, most: i16, words: Vec<String>| {
        let by = i16::try_from(count).unwrap_or(i16::MAX).saturating_mul(each).clamp(-most, most);
        if by != 0 {
            reasons.push(EstimateFactor { measure, sign, by, words: words.into_iter().take(10).collect() });
        }
    };
    let mut add_words =
        |measure, sign, each, most, words: Vec<String>| add(measure, sign, each, words.len(), most, words);
    add_words(Complexity, Sign::HardWords, 10, 50, said(HARD));
    add_words(Complexity, Sign::EasyWords, -10, 20, said(EASY));
    add_words(Ambiguity, Sign::VagueWords, 10, 50, said(VAGUE));
    add_words(Ambiguity, Sign::Pointing, 20, 20, pointing);
    add_words(Ambiguity, Sign::Numbers, -5, 20, numbers.into_iter().collect());
    add_words(Ambiguity, Sign::Constraints, -6, 30, said(CONSTRAINTS));
    add_words(Ambiguity, Sign::Names, -6, 18, names.into_iter().collect());
    let mut add_count = |measure, sign, each, count, most| add(measure, sign, each, count, most, Vec::new());
    add_count(Complexity, Sign::Length, 1, all.len().saturating_sub(12) / 4, 25);
    add_count(Complexity, Sign::Parts, 1, 5 * items(topic) + 3 * times("and"), 20);
    add_count(Complexity, Sign::Sources, 1, source_words / 200, 15);
    add_count(Complexity, Sign::Language, 5, has_language.into(), 5);
    add_count(Ambiguity, Sign::Questions, 5, topic.matches(['?', '？']).count().saturating_sub(1), 15);
    add_count(Ambiguity, Sign::Alternatives, 5, times("or"), 10);
    add_count(Ambiguity, Sign::Short, 25, short.into(), 25);
    add_count(Ambiguity, Sign::Sources, -10, has_sources.into(), 10);
    add_count(Ambiguity, Sign::Language, -10, has_language.into(), 10);
    reasons
}

/// Counts the lines that begin like an item of a list.
fn items(topic: &str) -> usize {
    let is_item = |line: &str| {
        let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
        line.starts_with("- ")
            || line.starts_with("* ")
            || (numbered.len() < line.len() && (numbered.starts_with(". ") || numbered.starts_with(") ")))
    };
    topic.lines().filter(|line| is_item(line.trim_start())).count()
}

/// Whether a token is a name of code or of a file: `sort_by`, `Vec::push`, `main.rs`, `f()`, or
/// anything with a backtick.
fn is_name(token: &str) -> bool {
    let inner = token.trim_matches(|c: char| !c.is_alphanumeric());
    let joined = inner.split_once('.').is_some_and(|(before, after)| {
        before.ends_with(char::is_alphabetic)
            && after.starts_with(char::is_alphabetic)
            && before.len() + after.len() > 2
    });
    !inner.is_empty()
        && (token.contains('`') || token.contains("()") || inner.contains("::") || inner.contains('_') || joined)
}

const HARD: &str = "algorithm architecture async asynchronous atomic authentication authorization cache cluster compiler \
    concurrency concurrent consensus consistency consistent crash cryptography database deadlock distributed encryption failover \
    failures idempotent interpreter latency lock locks migrate migration multithreaded network optimizer parallel parser \
    performance protocol queue race races recovery replication scheduler schema security sharding stream streaming \
    synchronization system systems tenant thread threads throughput transaction transactions";
const EASY: &str =
    "capitalize greet greeting hello print rename reverse reverses simple single small sum swap trivial typo";
const VAGUE: &str = "adequate appropriate appropriately best better clean cleaner decent easy efficient etc fast faster flexible \
    friendly good great improve improved intuitive maybe modern nice nicely optimal perhaps possibly probably proper properly \
    quickly reasonable robust scalable several smart some somehow something sometimes stuff suitable thing things various whatever";
const CONSTRAINTS: &str = "always ascending between bytes descending exactly example examples given input least limit maximum \
    milliseconds minimum most must never only output return returns seconds under unless within without";
