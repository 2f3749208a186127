//! Every prompt: its name, its text, and the variables that it is given.

use folkmoot_core::debate::{NoteKind, TurnPart};

/// A prompt that is built in.
#[derive(Debug)]
pub(super) struct Prompt {
    /// The path of its file, in our folder as in the user's.
    pub name: &'static str,
    pub source: &'static str,
    /// What it is given, no more and no less.
    pub variables: &'static [Variable],
}

/// A variable of a prompt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variable {
    /// What templates call it.
    pub name: &'static str,
    /// What it holds.
    pub kind: VariableKind,
}

/// What a variable holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum VariableKind {
    /// Text from outside, to be fenced.
    Data,
    /// One of our own words.
    Word(&'static [&'static str]),
    /// A number.
    Number,
    /// Any number of things of one sort.
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

/// Each file of the folder `prompts`; a test compares.
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
