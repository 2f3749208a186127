//! Texts as sets of words. The rules compare texts in this form.

use std::collections::BTreeSet;

use crate::agent::Share;

#[cfg(test)]
mod tests;

/// The words of a text with more than `longer_than` characters, each once, in lower case. A word
/// consists of letters and digits.
pub(super) fn words(text: &str, longer_than: usize) -> BTreeSet<String> {
    all(text, longer_than).collect()
}

/// The words that say what a text is about: they are longer than two characters and not common.
pub(super) fn keywords(text: &str) -> impl Iterator<Item = String> {
    all(text, 2).filter(|word| !COMMON.contains(&word.as_str()))
}

/// The share of words that are in both sets, of all words in either. Two empty sets have nothing in
/// common.
pub(super) fn alike(one: &BTreeSet<String>, two: &BTreeSet<String>) -> Share {
    let common = one.intersection(two).count();
    let either = one.len() + two.len() - common;
    Share::part(common as u64, either as u64).unwrap_or(Share::ZERO)
}

fn all(text: &str, longer_than: usize) -> impl Iterator<Item = String> {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.filter(move |word| word.chars().nth(longer_than).is_some()).map(str::to_lowercase)
}

const COMMON: &[&str] = &[
    "all", "and", "any", "are", "but", "can", "for", "from", "had", "has", "have", "how", "into", "its", "not", "one",
    "should", "than", "that", "the", "then", "there", "this", "use", "was", "what", "when", "which", "will", "with",
    "you", "your",
];
