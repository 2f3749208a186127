//! Episodes: attempts that failed, with what was learned from them. An [`EpisodicMemory`] holds a
//! limited number of them.
//!
//! Only a failure that something other than a model reported is worth learning from: a test that
//! was run, a hook, a tool, a person. A model's opinion is kept, but it teaches nothing
//! ([`FailureSource::is_outside`]).

use folkmoot_core::{Name, SessionId, Timestamp, vocabulary};
use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::words::keywords;
use crate::agent::Share;

#[cfg(test)]
pub(super) mod tests;

/// The default size of a memory.
pub const EPISODES_MAX: usize = 1000;

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Episode {
    /// Unique in its memory.
    pub id: String,
    pub session_id: SessionId,
    pub turn_id: String,
    /// The agent that tried.
    pub agent_id: Name,
    pub task_description: String,
    /// Counted from 1.
    pub attempt_number: u32,
    pub code: String,
    pub test_results: TestResults,
    /// Who or what reported the failure.
    pub cause: FailureSource,
    /// What went wrong, in the words of the agent that analysed it.
    pub failure_analysis: String,
    pub reflection: Reflection,
    /// What to do differently.
    pub improvement: String,
    /// How confident the agent was in the attempt.
    pub confidence: Share,
    pub timestamp: Timestamp,
    /// The test results of the next attempt, once there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<TestResults>,
}

/// The results of running tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestResults {
    /// How many passed.
    pub passed: u32,
    /// The tests that did not pass.
    pub failures: Vec<TestFailure>,
}

/// A test that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestFailure {
    pub test: String,
    /// What the test reported. A test can fail without a message.
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
        /// A model, which may be the author itself.
        Opinion = "opinion",
    }
}

/// What an agent learned from a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reflection {
    /// Why it failed.
    pub root_cause: String,
    pub what_went_wrong: String,
    /// What to do differently.
    pub what_to_change: String,
    /// How confident its author is that this helps.
    pub confidence: Share,
}

impl FailureSource {
    /// Whether something other than a model reported the failure.
    pub const fn is_outside(self) -> bool {
        match self {
            FailureSource::Tests | FailureSource::Hook | FailureSource::Tool | FailureSource::Person => true,
            FailureSource::Opinion => false,
        }
    }
}

impl TestResults {
    /// Whether tests were run and none failed. Without tests this is false.
    pub fn all_passed(&self) -> bool {
        self.passed > 0 && self.failures.is_empty()
    }

    /// The share of tests that passed; `None` if none was run.
    pub fn pass_rate(&self) -> Option<Share> {
        Share::part(self.passed.into(), u64::from(self.passed) + self.failures.len() as u64)
    }

    /// Each failure as a line, including those without a message.
    pub fn told(&self) -> Vec<String> {
        let line = |failure: &TestFailure| match failure.message.trim() {
            "" => format!("{}: failed without a message", failure.test),
            message => format!("{}: {message}", failure.test),
        };
        self.failures.iter().map(line).collect()
    }
}

impl Episode {
    /// Whether something other than a model reported the failure, and the tests of the next attempt
    /// all passed.
    pub fn was_mended(&self) -> bool {
        self.cause.is_outside() && self.next.as_ref().is_some_and(TestResults::all_passed)
    }
}

/// The newest episodes, up to a maximum. The oldest one is forgotten first.
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
    /// A memory for at most `max` episodes, and for at least one.
    pub fn new(max: usize) -> Self {
        Self { max: max.max(1), episodes: VecDeque::new() }
    }

    /// Stores an episode, and returns the one that it had to forget. An episode with a known id
    /// replaces the old one.
    pub fn remember(&mut self, episode: Episode) -> Option<Episode> {
        if let Some(known) = self.episodes.iter_mut().find(|known| known.id == episode.id) {
            *known = episode;
            return None;
        }
        self.episodes.push_back(episode);
        if self.episodes.len() > self.max { self.episodes.pop_front() } else { None }
    }

    /// Records the test results of the next attempt. `None` if the episode was forgotten.
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

    /// At most `limit` episodes that share keywords with a text, those with the most first; ties go
    /// to the newest.
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
        // The sort is stable, so of equals the newest stays first.
        found.sort_by_key(|(relevance, _)| std::cmp::Reverse(*relevance));
        found.into_iter().take(limit).map(|(_, episode)| episode).collect()
    }

    /// What an agent is shown before it tries a task again: its newest reflections on the task, at
    /// most `max`, the oldest first. Only failures that something other than a model reported
    /// count.
    pub fn reflections(&self, agent: &Name, task: &str, max: usize) -> Vec<&Reflection> {
        let newest = self.of_agent(agent).rev().filter(|episode| episode.task_description == task);
        let mut shown: Vec<&Reflection> =
            newest.filter(|episode| episode.cause.is_outside()).take(max).map(|episode| &episode.reflection).collect();
        shown.reverse();
        shown
    }
}
