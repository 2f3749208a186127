//! The variables for a prompt.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::Value;

use super::{
    PromptError,
    catalogue::{Variable, VariableKind},
    fence::{self, Rendering},
};

/// The variables of a prompt. Text from outside is [data](PromptContext::data). Our own words are
/// `&'static str`, so that text from outside cannot pass as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptContext(BTreeMap<&'static str, Slot>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    Data(String),
    Word(&'static str),
    Number(i64),
    List(Vec<PromptContext>),
}

impl PromptContext {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text from outside, which the template must fence.
    pub fn data(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, Slot::Data(text.into()))
    }

    /// Adds one of our own words.
    pub fn word(self, name: &'static str, word: &'static str) -> Self {
        self.with(name, Slot::Word(word))
    }

    /// Adds a number.
    pub fn number(self, name: &'static str, number: i64) -> Self {
        self.with(name, Slot::Number(number))
    }

    /// Adds a list of items with the same variables.
    pub fn list(self, name: &'static str, items: Vec<PromptContext>) -> Self {
        self.with(name, Slot::List(items))
    }

    fn with(mut self, name: &'static str, slot: Slot) -> Self {
        self.0.insert(name, slot);
        self
    }

    /// Checks that the context has exactly these variables.
    pub(super) fn must_be(&self, prompt: &'static str, variables: &[Variable]) -> Result<(), PromptError> {
        let refused = |variable: &str, problem: &str| {
            let (variable, problem) = (variable.to_owned(), problem.to_owned());
            Err(PromptError::Context { prompt, variable, problem })
        };
        for name in self.0.keys() {
            if variables.iter().all(|variable| variable.name != *name) {
                return refused(name, "is not a variable of this prompt");
            }
        }
        for variable in variables {
            match (variable.kind, self.0.get(variable.name)) {
                (_, None) => return refused(variable.name, "is missing"),
                (VariableKind::Data, Some(Slot::Data(_))) | (VariableKind::Number, Some(Slot::Number(_))) => {}
                (VariableKind::Word(words), Some(Slot::Word(word))) if words.contains(word) => {}
                (VariableKind::Word(words), Some(Slot::Word(word))) => {
                    return refused(variable.name, &format!("is {word:?}, not one of {}", words.join(", ")));
                }
                (VariableKind::List(of_item), Some(Slot::List(items))) => {
                    items.iter().try_for_each(|item| item.must_be(prompt, of_item))?;
                }
                (
                    VariableKind::Data | VariableKind::Number | VariableKind::Word(_) | VariableKind::List(_),
                    Some(_),
                ) => {
                    return refused(variable.name, "is of another kind");
                }
            }
        }
        Ok(())
    }

    /// The state shared by all data of one rendering, with a mark that occurs in none of it.
    pub(super) fn rendering(&self) -> Arc<Rendering> {
        let mut texts = Vec::new();
        self.collect(&mut texts);
        Arc::new(Rendering::of(&texts))
    }

    fn collect<'a>(&'a self, texts: &mut Vec<&'a str>) {
        for slot in self.0.values() {
            match slot {
                Slot::Data(text) => texts.push(text),
                Slot::Word(word) => texts.push(word),
                Slot::Number(_) => {}
                Slot::List(items) => items.iter().for_each(|item| item.collect(texts)),
            }
        }
    }

    /// The template's root value.
    pub(super) fn root(&self, rendering: &Arc<Rendering>) -> Value {
        let variables = self.values(rendering);
        Value::from_pairs(variables.chain([(fence::RENDERING, Value::from_dyn_object(rendering.clone()))]))
    }

    fn values(&self, rendering: &Arc<Rendering>) -> impl Iterator<Item = (&'static str, Value)> {
        let slot = |slot: &Slot| match slot {
            Slot::Data(text) => fence::data(text, rendering),
            Slot::Word(word) => Value::from(*word),
            Slot::Number(number) => Value::from(*number),
            Slot::List(items) => items.iter().map(|item| Value::from_pairs(item.values(rendering))).collect(),
        };
        self.0.iter().map(move |(name, value)| (*name, slot(value)))
    }
}

/// Every combination of empty and non-empty variables, and of the words.
pub(super) fn samples(variables: &[Variable]) -> Vec<PromptContext> {
    samples_within("", variables)
}

fn samples_within(path: &str, variables: &[Variable]) -> Vec<PromptContext> {
    let mut samples = vec![PromptContext::new()];
    for variable in variables {
        let name = format!("{path}{}", variable.name);
        let slots: Vec<Slot> = match variable.kind {
            VariableKind::Data => vec![Slot::Data(String::new()), Slot::Data(sample_of(&name))],
            VariableKind::Word(words) => words.iter().copied().map(Slot::Word).collect(),
            VariableKind::Number => [0, 1, 2, 3, 4, 5, 10, 100].map(Slot::Number).to_vec(),
            // One list contains all samples of an item, so lists with several items are covered.
            VariableKind::List(of_item) => {
                vec![Slot::List(Vec::new()), Slot::List(samples_within(&format!("{name}."), of_item))]
            }
        };
        samples = samples
            .iter()
            .flat_map(|sample| slots.iter().map(|slot| sample.clone().with(variable.name, slot.clone())))
            .collect();
    }
    samples
}

/// The sample text of a variable.
pub(super) fn sample_of(variable: &str) -> String {
    format!("<the sample of {variable}>")
}

/// The paths of all data variables.
pub(super) fn data_of(variables: &[Variable]) -> Vec<String> {
    let paths = |variable: &Variable| match variable.kind {
        VariableKind::Data => vec![variable.name.to_owned()],
        VariableKind::List(of_item) => {
            data_of(of_item).iter().map(|path| format!("{}.{path}", variable.name)).collect()
        }
        VariableKind::Word(_) | VariableKind::Number => Vec::new(),
    };
    variables.iter().flat_map(paths).collect()
}
