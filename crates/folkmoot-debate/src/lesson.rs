//! Lessons: what one debate learned and later debates are shown.
//!
//! A lesson rests on failures that something other than a model reported, and on more than one
//! statement of one model: either the same root cause was found at least twice, or the tests passed
//! after the change. The confidence of a lesson follows from that, not from how confident a model
//! says it is.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    memory::Episode,
    words::{alike, keywords, words},
};
use crate::agent::{Domain, Share};
use folkmoot_core::{Digest, RunId, Timestamp, text::shortened};

#[cfg(test)]
mod tests;

/// A debate is shown at most this many lessons.
pub const LESSONS_TOLD: usize = 5;
/// A lesson that is older than this is not shown.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Two lessons, or two root causes, that are at least this alike are the same.
const SAME: Share = Share::of(80);
/// The most words of a task that are kept as tags.
const TAGS_MAX: usize = 24;
/// The longest tag, in bytes.
const TAG_BYTES_MAX: usize = 64;
/// The longest root cause and the longest text, in bytes.
const BYTES_MAX: usize = 2000;

/// What a debate learned from failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// Made from the debate and the texts of the lesson, so that the same lesson of the same debate
    /// always has the same id.
    pub id: String,
    pub domain: Domain,
    /// The language that it is for; `None` means any.
    pub language: Option<String>,
    /// Why things failed.
    pub root_cause: String,
    /// What to do.
    pub text: String,
    /// How well it is founded: 0.70 for the same root cause twice, 0.80 if tests passed after the
    /// change, plus 0.05 for each further episode, up to 0.95.
    pub confidence: Share,
    /// Words of the task that taught it. A similar task shares these words, but not those of the
    /// failure.
    pub tags: Vec<String>,
    /// The debate that learned it.
    pub debate: RunId,
    /// The ids of the episodes that it was learned from.
    pub episodes: Vec<String>,
    pub learned_at: Timestamp,
}

/// The debate that lessons are learned in, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LessonOrigin<'a> {
    pub debate: &'a RunId,
    /// As it was given.
    pub topic: &'a str,
    pub domain: Domain,
    pub language: Option<&'a str>,
    pub now: Timestamp,
}

/// The lessons of a debate's episodes, in the order in which the root causes were first found.
pub fn extract<'a>(episodes: impl IntoIterator<Item = &'a Episode>, origin: LessonOrigin<'_>) -> Vec<Lesson> {
    let mut causes: Vec<(BTreeSet<String>, Vec<&Episode>)> = Vec::new();
    for episode in episodes.into_iter().filter(|episode| episode.cause.is_outside()) {
        let cause = words(&episode.reflection.root_cause, 0);
        match causes.iter_mut().find(|(known, _)| alike(known, &cause) >= SAME) {
            Some((_, found)) => found.push(episode),
            None => causes.push((cause, vec![episode])),
        }
    }
    let found = causes.iter().filter_map(|(_, episodes)| learned(episodes, origin)).collect();
    new_ones(&[], found)
}

fn learned(episodes: &[&Episode], origin: LessonOrigin<'_>) -> Option<Lesson> {
    let mended = episodes.iter().rev().find(|episode| episode.was_mended());
    let (base, enough) = if mended.is_some() { (80, 1) } else { (70, 2) };
    let beyond = episodes.len().checked_sub(enough)?;
    // Prefer the change that helped to the one that was suggested last.
    let from = mended.or(episodes.last())?;
    let root_cause = shortened(from.reflection.root_cause.trim(), BYTES_MAX);
    let change =
        [&from.reflection.what_to_change, &from.improvement].into_iter().find(|text| !text.trim().is_empty())?;
    let text = shortened(change.trim(), BYTES_MAX);
    if root_cause.is_empty() {
        return None;
    }
    let hundredths = u8::try_from(beyond.min(3)).map_or(95, |beyond| (base + 5 * beyond).min(95));
    let digest = Digest::of([origin.debate.as_str(), &root_cause, &text].join("\0").as_bytes());
    Some(Lesson {
        id: format!("lesson-{}", &digest.hex()[..32]),
        domain: origin.domain,
        language: origin.language.map(str::to_lowercase),
        root_cause,
        text,
        confidence: Share::hundredths(hundredths).unwrap_or(Share::ONE),
        tags: tags(origin.topic),
        debate: origin.debate.clone(),
        episodes: episodes.iter().map(|episode| episode.id.clone()).collect(),
        learned_at: origin.now,
    })
}

/// Words to find a lesson by. A word that is longer than a tag can be is a hash or a path, and
/// nobody searches for it.
fn tags(topic: &str) -> Vec<String> {
    let words: BTreeSet<String> = keywords(topic).filter(|word| word.len() <= TAG_BYTES_MAX).collect();
    words.into_iter().take(TAGS_MAX).collect()
}

/// The lessons of `found` that say something new: they are not in `known`, and no earlier one of
/// `found` says the same.
pub fn new_ones(known: &[Lesson], found: Vec<Lesson>) -> Vec<Lesson> {
    let mut new: Vec<Lesson> = Vec::new();
    for lesson in found {
        if !known.iter().chain(&new).any(|other| other.says_the_same(&lesson)) {
            new.push(lesson);
        }
    }
    new
}

impl Lesson {
    /// Whether two lessons are the same: they are for the same language and share at least four of
    /// five words.
    pub fn says_the_same(&self, other: &Lesson) -> bool {
        let said = |lesson: &Lesson| words(&format!("{} {}", lesson.root_cause, lesson.text), 0);
        self.language == other.language && alike(&said(self), &said(other)) >= SAME
    }

    /// Whether it is too old to be shown.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now.since(self.learned_at) > EXPIRES_AFTER
    }
}

/// The debate that lessons are looked up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LessonSearch<'a> {
    /// As it was given.
    pub topic: &'a str,
    pub domain: Domain,
    /// If `None`, lessons for all languages fit.
    pub language: Option<&'a str>,
    pub now: Timestamp,
}

impl LessonSearch<'_> {
    /// Whether a lesson may be shown at all: it is neither for another language nor expired.
    pub fn fits(&self, lesson: &Lesson) -> bool {
        let language = self.language.map(str::to_lowercase);
        let other = lesson.language.is_some() && language.is_some() && lesson.language != language;
        !other && !lesson.is_expired(self.now)
    }
}

/// At most [`LESSONS_TOLD`] lessons for a topic, the most relevant first. Relevance is BM25 over
/// the keywords of topic and lessons, and a quarter more if the domain is the same. Ties go to the
/// higher confidence, then to the newer lesson, then to the lower id. Lessons that do not fit or
/// share no keyword with the topic are left out.
pub fn relevant<'a>(lessons: &'a [Lesson], question: LessonSearch<'_>) -> Vec<&'a Lesson> {
    let told: Vec<&Lesson> = lessons.iter().filter(|lesson| question.fits(lesson)).collect();
    let texts: Vec<BTreeMap<String, u128>> = told.iter().map(|lesson| counted(lesson)).collect();
    let asked: BTreeSet<String> = keywords(question.topic).collect();
    let mut ranked: Vec<(u128, &Lesson)> = told
        .into_iter()
        .zip(bm25(&texts, &asked))
        .map(|(lesson, score)| (if lesson.domain == question.domain { score * 5 } else { score * 4 }, lesson))
        .filter(|(score, _)| *score > 0)
        .collect();
    ranked.sort_by_key(|(score, lesson)| {
        (Reverse(*score), Reverse(lesson.confidence), Reverse(lesson.learned_at), lesson.id.as_str())
    });
    ranked.into_iter().take(LESSONS_TOLD).map(|(_, lesson)| lesson).collect()
}

fn counted(lesson: &Lesson) -> BTreeMap<String, u128> {
    let mut counts = BTreeMap::new();
    let tags = lesson.tags.iter().flat_map(|tag| keywords(tag));
    for word in keywords(&lesson.root_cause).chain(keywords(&lesson.text)).chain(tags) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The BM25 score of each text, with k1 = 1.2 and b = 0.75, in integers, so that all machines rank
/// alike. A word that occurs `f` times in a text of `l` words, where all `n` texts together have
/// `a` words, adds its rarity times
///
/// ```text
///          f · (k1 + 1)                           22 · f · a
///  ───────────────────────────────  =  ─────────────────────────────────
///   f + k1 · (1 - b + b · l·n/a)        10 · f · a + 3 · a + 9 · l · n
/// ```
fn bm25(texts: &[BTreeMap<String, u128>], asked: &BTreeSet<String>) -> Vec<u128> {
    let length = |text: &BTreeMap<String, u128>| text.values().sum::<u128>();
    let n = texts.len() as u128;
    let a: u128 = texts.iter().map(length).sum();
    let rarity: BTreeMap<&String, u128> = asked
        .iter()
        .map(|word| (word, texts.iter().filter(|text| text.contains_key(word)).count() as u128))
        .map(|(word, with)| (word, log2(2 * n + 2, 2 * with + 1)))
        .collect();
    let score = |text: &BTreeMap<String, u128>| {
        let l = length(text);
        let word = |(word, rarity): (&&String, &u128)| {
            let f = text.get(*word).copied().unwrap_or(0);
            (rarity * 22 * f * a).checked_div(10 * f * a + 3 * a + 9 * l * n).unwrap_or(0)
        };
        rarity.iter().map(word).sum()
    };
    texts.iter().map(score).collect()
}

/// The logarithm to the base 2 of `over / under`, in 65536ths, without floats; 0 if the fraction is
/// below 1.
fn log2(over: u128, under: u128) -> u128 {
    if under == 0 || over < under {
        return 0;
    }
    let mut value = (over << 32) / under;
    let mut log = 0;
    while value >= 2 << 32 {
        value >>= 1;
        log += 1 << 16;
    }
    for bit in (0..16).rev() {
        value = (value * value) >> 32;
        if value >= 2 << 32 {
            value >>= 1;
            log += 1 << bit;
        }
    }
    log
}
