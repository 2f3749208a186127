//! What failed, and what was learned from it: episodes, and a memory that holds so many of them.
//!
//! Only what failed outside of a model's head is an episode worth learning from: a test that was
//! run, a hook, a tool, a person. An opinion is kept, and teaches nothing
//! ([`FailureSource::is_outside`]).

use folkmoot_core::{Name, SessionId, Timestamp, vocabulary};
use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::words::keywords;
use crate::agent::Share;

#[cfg(test)]
pub(super) mod tests;

/// So many episodes are kept where nobody says otherwise.
pub const EPISODES_MAX: usize = 1000;

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Unique in its memory.
    pub id: String,
    /// Where it happened.
    pub session_id: SessionId,
    /// In whose turn.
    pub turn_id: String,
    /// Who tried.
    pub agent_id: Name,
    /// What was to be done.
    pub task_description: String,
    /// Which attempt it was, from 1.
    pub attempt_number: u32,
    /// What was tried.
    pub code: String,
    /// What its tests said.
    pub test_results: TestResults,
    /// What said that it failed.
    pub cause: FailureSource,
    /// What went wrong, in the words of whoever looked.
    pub failure_analysis: String,
    /// What was learned.
    pub reflection: Reflection,
    /// What to do differently.
    pub improvement: String,
    /// How sure the agent was of what it tried.
    pub confidence: Share,
    pub timestamp: Timestamp,
    /// What the tests of the next attempt said, once there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<TestResults>,
}

/// What tests said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestResults {
    /// How many passed.
    pub passed: u32,
    /// Those that did not.
    pub failures: Vec<TestFailure>,
}

/// A test that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestFailure {
    pub test: String,
    /// What it said; it may have said nothing, and failed all the same.
    pub message: String,
}

vocabulary! {
    /// Who or what reported that an attempt failed.
    pub enum FailureSource {
        /// Tests that were run.
        Tests = "tests",
        /// A project command that was run.
        Hook = "hook",
        /// A tool that was called.
        Tool = "tool",
        /// A person.
        Person = "person",
        /// Another model, or the same.
        Opinion = "opinion",
    }
}

/// What somebody learned from a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reflection {
    /// Why it failed.
    pub root_cause: String,
    pub what_went_wrong: String,
    /// What to do differently.
    pub what_to_change: String,
    /// How sure its author is that this helps.
    pub confidence: Share,
}

impl FailureSource {
    /// Whether something else than a model says so.
    pub const fn is_outside(self) -> bool {
        match self {
            FailureSource::Tests | FailureSource::Hook | FailureSource::Tool | FailureSource::Person => true,
            FailureSource::Opinion => false,
        }
    }
}

impl TestResults {
    /// Whether tests were run, and none failed. No tests have passed nothing.
    pub fn all_passed(&self) -> bool {
        self.passed > 0 && self.failures.is_empty()
    }

    /// Of all tests those that passed; unknown where none was run.
    pub fn pass_rate(&self) -> Option<Share> {
        Share::part(self.passed.into(), u64::from(self.passed) + self.failures.len() as u64)
    }

    /// Every failure as a line, also of those that said nothing.
    pub fn told(&self) -> Vec<String> {
        let line = |failure: &TestFailure| match failure.message.trim() {
            "" => format!("{}: failed without a message", failure.test),
            message => format!("{}: {message}", failure.test),
        };
        self.failures.iter().map(line).collect()
    }
}

impl Episode {
    /// Whether something outside said that it failed, and tests then passed.
    pub fn was_mended(&self) -> bool {
        self.cause.is_outside() && self.next.as_ref().is_some_and(TestResults::all_passed)
    }
}

/// The newest episodes, and none beyond their number: whoever came first is forgotten first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodicMemory {
    max: usize,
    episodes: VecDeque<Episode>,
}

impl Default for EpisodicMemory {
    fn default() -> Self {
        Self::new(EPISODES_MAX)
    }
}

impl EpisodicMemory {
    /// A memory of so many episodes, and of one at least.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), episodes: VecDeque::new() }
    }

    /// Remembers an episode, and says which one it had to forget. One of an id that is there takes
    /// its place.
    pub fn remember(&mut self, episode: Episode) -> Option<Episode> {
        if let Some(known) = self.episodes.iter_mut().find(|known| known.id == episode.id) {
            *known = episode;
            return None;
        }
        self.episodes.push_back(episode);
        if self.episodes.len() > self.max { self.episodes.pop_front() } else { None }
    }

    /// Notes what the tests of the next attempt said. Nothing where the episode was forgotten.
    pub fn followed_by(&mut self, id: &str, next: TestResults) -> Option<&Episode> {
        let episode = self.episodes.iter_mut().find(|episode| episode.id == id)?;
        episode.next = Some(next);
        Some(episode)
    }

    /// All episodes, the oldest first.
    pub fn episodes(&self) -> impl DoubleEndedIterator<Item = &Episode> + ExactSizeIterator {
        self.episodes.iter()
    }

    /// An agent's episodes, the oldest first.
    pub fn of_agent(&self, agent: &Name) -> impl DoubleEndedIterator<Item = &Episode> {
        self.episodes.iter().filter(move |episode| episode.agent_id == *agent)
    }

    /// A session's episodes, the oldest first.
    pub fn of_session(&self, session: &SessionId) -> impl DoubleEndedIterator<Item = &Episode> {
        self.episodes.iter().filter(move |episode| episode.session_id == *session)
    }

    /// At most `limit` episodes that have to do with a text, those first that have most of its
    /// keywords; of equals the newest.
    pub fn similar(&self, text: &str, limit: usize) -> Vec<&Episode> {
        let asked: BTreeSet<String> = keywords(text).collect();
        let relevance = |episode: &Episode| {
            let Episode { task_description, failure_analysis, reflection, improvement, .. } = episode;
            let texts =
                [task_description, failure_analysis, &reflection.root_cause, &reflection.what_to_change, improvement];
            let said: BTreeSet<String> = texts.into_iter().flat_map(|text| keywords(text)).collect();
            asked.intersection(&said).count()
        };
        let newest_first = self.episodes.iter().rev().map(|episode| (relevance(episode), episode));
        let mut found: Vec<(usize, &Episode)> = newest_first.filter(|(relevance, _)| *relevance > 0).collect();
        // Stable: of equals the newest stays first.
        found.sort_by_key(|(relevance, _)| std::cmp::Reverse(*relevance));
        found.into_iter().take(limit).map(|(_, episode)| episode).collect()
    }

    /// What an agent is shown before it tries a task again: its newest reflections on it, at most
    /// `max`, the oldest first, and only those that follow from something outside.
    pub fn reflections(&self, agent: &Name, task: &str, max: usize) -> Vec<&Reflection> {
        let newest = self.of_agent(agent).rev().filter(|episode| episode.task_description == task);
        let mut shown: Vec<&Reflection> =
            newest.filter(|episode| episode.cause.is_outside()).take(max).map(|episode| &episode.reflection).collect();
        shown.reverse();
        shown
    }
}
