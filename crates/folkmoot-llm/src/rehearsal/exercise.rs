//! The exercises: files in `rehearsal/`, embedded.

use std::sync::LazyLock;

use serde::Deserialize;

/// A task that the player really knows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    pub name: String,
    /// Words by which a topic is recognised; two of them make it this exercise.
    pub words: Vec<String>,
    /// What is to be written.
    pub task: String,
    /// From the worst to the right one, in Python.
    pub solutions: Vec<RehearsedSolution>,
    /// What tells them apart: the right one passes all, each of the others fails some.
    pub tests: Vec<Test>,
}

/// Code with a known flaw.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RehearsedSolution {
    /// A module `solution`.
    pub code: String,
    /// What is wrong; nothing for the right one.
    #[serde(default)]
    pub flaw: String,
    /// Why it is wrong.
    #[serde(default)]
    pub root_cause: String,
    /// What the next solution does about it.
    #[serde(default)]
    pub change: String,
    /// How bad it is: `critical`, `high`, `medium`, `low`.
    #[serde(default)]
    pub severity: String,
    /// The test that shows it, by its name.
    #[serde(default)]
    pub shown_by: String,
}

/// A program that ends with 0 if the module `solution` does what it should.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    pub name: String,
    /// One of the six categories.
    pub category: String,
    /// `basic`, `moderate`, `advanced` or `expert`.
    pub difficulty: String,
    /// The program.
    pub code: String,
}

/// All of them.
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
    /// The exercise that a text is about, if it is about one: two of its words, or its name. The
    /// first of the best counts.
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

    /// Which of its solutions a piece of code is.
    pub(super) fn which(&self, code: &str) -> Option<usize> {
        self.solutions.iter().position(|solution| solution.code.trim() == code.trim())
    }
}
