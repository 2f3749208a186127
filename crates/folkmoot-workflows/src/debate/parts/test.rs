//! A test within an answer.

use folkmoot_tools::testing::{Category, Difficulty, TestCase};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LIST_MAX, TEXT_MAX};

/// The longest name of a test that is kept.
const NAME_CHARS: usize = 100;

/// A test as a model writes it. Other fields are ignored.
#[derive(Deserialize, JsonSchema)]
pub(in super::super) struct TestAnswer {
    #[schemars(length(min = 1, max = 200))]
    name: String,
    #[serde(default = "functional")]
    #[schemars(with = "String", extend("enum" = Category::WORDS))]
    category: Category,
    #[serde(default = "basic")]
    #[schemars(with = "String", extend("enum" = Difficulty::WORDS))]
    difficulty: Difficulty,
    #[schemars(length(min = 1, max = TEXT_MAX))]
    code: String,
}

fn functional() -> Category {
    Category::Functional
}

fn basic() -> Difficulty {
    Difficulty::Basic
}

/// The tests of an answer as they are executed. Of two tests with the same name the first is kept,
/// as results are shown by name.
pub(in super::super) fn test_cases<'a>(tests: impl IntoIterator<Item = &'a TestAnswer>) -> Vec<TestCase> {
    let mut cases: Vec<TestCase> = Vec::new();
    for TestAnswer { name, category, difficulty, code } in tests.into_iter().take(LIST_MAX) {
        // Results show a name in one short line.
        let line = name.trim().lines().next().unwrap_or_default();
        let name: String = line.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
        if !name.is_empty() && !cases.iter().any(|known| known.name == name) {
            cases.push(TestCase { name, category: *category, difficulty: *difficulty, code: code.clone() });
        }
    }
    cases
}
