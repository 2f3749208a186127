//! All prompts with their names, texts and variables.

use folkmoot_debate::{NoteKind, TurnPart};

#[derive(Debug)]
pub(super) struct Prompt {
    /// The path of its file, in our folder and in the user's.
    pub name: &'static str,
    pub source: &'static str,
    /// Exactly the variables that it is given.
    pub variables: &'static [Variable],
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    pub name: &'static str,
    pub kind: VariableKind,
}

/// The type of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) enum VariableKind {
    /// Text from outside, which must be fenced.
    Data,
    /// One of our own words.
    Word(&'static [&'static str]),
    Number,
    /// A list of items with the same variables.
    List(&'static [Variable]),
}

const fn data(name: &'static str) -> Variable {
    Variable { name, kind: VariableKind::Data }
}

const fn number(name: &'static str) -> Variable {
    Variable { name, kind: VariableKind::Number }
}

const fn word(name: &'static str, words: &'static [&'static str]) -> Variable {
    Variable { name, kind: VariableKind::Word(words) }
}

const fn list(name: &'static str, of_item: &'static [Variable]) -> Variable {
    Variable { name, kind: VariableKind::List(of_item) }
}

macro_rules! catalogue {
    ($($name:literal $([$($variable:expr),+])?,)+) => {
        &[$(Prompt {
            name: $name,
            source: include_str!(concat!("../../prompts/", $name)),
            variables: &[$($($variable),+)?],
        },)+]
    };
}

/// All files of the folder `prompts`; a test compares.
pub(super) const CATALOGUE: &[Prompt] = catalogue![
    "debate/turn.md" [
        word("part", TurnPart::WORDS),
        data("topic"),
        list("notes", &[word("kind", NoteKind::WORDS), data("text")]),
        list("answers", &[data("text")])
    ],
    "domains/architecture.md",
    "domains/code.md",
    "domains/debug.md",
    "domains/optimization.md",
    "domains/reasoning.md",
    "domains/security.md",
    "parts/repair.md" [data("problems"), data("schema")],
    "parts/rest.md",
    "parts/rules.md",
    "parts/tool_result.md" [data("call"), data("result"), number("calls_left")],
    "parts/tool_use.md" [data("tools"), data("form"), number("calls_left")],
    "plan/again.md" [data("problem")],
    "plan/iteration.md" [
        data("goal"),
        data("proposal"),
        number("iteration"),
        number("iterations"),
        list("sources", &[data("text")]),
        list("earlier", &[number("number"), data("text")]),
        list("strategy", &[data("text")])
    ],
    "plan/proposal.md" [
        data("goal"),
        number("iterations"),
        number("interval"),
        list("sources", &[data("text")]),
        list("drafts", &[data("text"), data("feedback")])
    ],
    "plan/synthesis.md" [
        data("goal"),
        data("proposal"),
        list("sources", &[data("text")]),
        list("strategy", &[data("text")]),
        list("iterations", &[number("number"), data("text")])
    ],
    "roles/architect.md",
    "roles/blue_team.md",
    "roles/compiler.md",
    "roles/critic.md",
    "roles/designer.md",
    "roles/executor.md",
    "roles/generator.md",
    "roles/implementer.md",
    "roles/judge.md",
    "roles/moderator.md",
    "roles/optimizer.md",
    "roles/performance_analyzer.md",
    "roles/proposer.md",
    "roles/red_team.md",
    "roles/refactorer.md",
    "roles/reviewer.md",
    "roles/security.md",
    "roles/teacher.md",
    "roles/test_agent.md",
    "roles/validator.md",
];
