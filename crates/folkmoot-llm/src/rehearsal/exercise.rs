//! The exercises: files in `rehearsal/`, embedded.

use std::sync::LazyLock;

use serde::Deserialize;

/// A task that the rehearsal can solve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    pub name: String,
    /// Words that identify a topic; two of them are enough.
    pub words: Vec<String>,
    /// The task's text.
    pub task: String,
    /// From the worst to the correct one, in Python.
    pub solutions: Vec<RehearsedSolution>,
    /// The correct solution passes all; each other one fails some.
    pub tests: Vec<Test>,
}

/// Code with a known flaw.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsedSolution {
    /// A module `solution`.
    pub code: String,
    /// What is wrong; empty for the correct one.
    #[serde(default)]
    pub flaw: String,
    #[serde(default)]
    pub root_cause: String,
    /// How the next solution fixes it.
    #[serde(default)]
    pub change: String,
    /// `critical`, `high`, `medium` or `low`.
    #[serde(default)]
    pub severity: String,
    /// The name of the test that shows the flaw.
    #[serde(default)]
    pub shown_by: String,
}

/// A program that exits with 0 if the module `solution` is correct.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    pub name: String,
    /// One of the six categories.
    pub category: String,
    /// `basic`, `moderate`, `advanced` or `expert`.
    pub difficulty: String,
    pub code: String,
}

pub fn exercises() -> &'static [Exercise] {
    static EXERCISES: LazyLock<Vec<Exercise>> = LazyLock::new(|| {
        let files = [
            include_str!("../../rehearsal/lru_cache.toml"),
            include_str!("../../rehearsal/merge_intervals.toml"),
            include_str!("../../rehearsal/parse_duration.toml"),
            include_str!("../../rehearsal/safe_join.toml"),
        ];
        files.iter().map(|file| toml::from_str(file).expect("the tests read every exercise")).collect()
    });
    &EXERCISES
}

impl Exercise {
    /// The exercise that a text is about: it contains two of its words, or its name. Ties go to the
    /// first.
    pub(super) fn about(text: &str) -> Option<&'static Exercise> {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let score = |exercise: &Exercise| {
            let named = usize::from(words.contains(&exercise.name.as_str())) * 2;
            named + exercise.words.iter().filter(|word| words.contains(&word.as_str())).count()
        };
        let best = exercises().iter().rev().max_by_key(|exercise| score(exercise))?;
        (score(best) >= 2).then_some(best)
    }

    /// The index of the solution that equals `code`.
    pub(super) fn which(&self, code: &str) -> Option<usize> {
        self.solutions.iter().position(|solution| solution.code.trim() == code.trim())
    }
}
