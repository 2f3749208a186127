//! Keys in what others say: erased where it explains something, and watched for where it is an
//! answer.

use std::fmt;

use serde_json::Value;

/// Below this, what looks like the key in somebody's error is a word of its language.
const ERASED_BYTES_MIN: usize = 6;
/// Below this, what looks like the key in an answer is one: local servers take `none`, `ollama` and
/// the like for a key.
const RECOGNISED_BYTES_MIN: usize = 20;
/// What stands in a key's place.
const ERASED: &str = "…";

/// What must not be shown, each with the name of where it came from. It cannot be printed.
#[derive(Clone, Default)]
pub struct Keys(Vec<NamedKey>);

#[derive(Clone)]
struct NamedKey {
    name: String,
    text: String,
}

impl Keys {
    /// These keys, by name. What is too short to be told from a word is not looked for.
    pub fn new<N: Into<String>, T: AsRef<str>>(named: impl IntoIterator<Item = (N, T)>) -> Self {
        let named = named.into_iter().map(|(name, text)| NamedKey {
            name: name.into(),
            // Nobody repeats the line end that a file or a shell put there.
            text: text.as_ref().trim().to_owned(),
        });
        let mut keys: Vec<NamedKey> = named.filter(|key| key.text.len() >= ERASED_BYTES_MIN).collect();
        // One that contains another goes first, or its rest would stay.
        keys.sort_by_key(|key| std::cmp::Reverse(key.text.len()));
        Self(keys)
    }

    /// `text` without the keys, also where JSON wrote them its own way.
    pub fn erase(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| {
            let text = text.replace(&key.text, ERASED);
            escaped(&key.text).fold(text, |text, key| text.replace(&key, ERASED))
        })
    }

    /// The same for a text that lost its beginning, perhaps within a key.
    pub fn erase_end(&self, text: &str) -> String {
        let rests = self.0.iter().flat_map(|key| {
            let rest = (1..key.text.len()).filter_map(|from| key.text.get(from..));
            rest.filter(|rest| rest.len() >= ERASED_BYTES_MIN).find(|rest| text.starts_with(rest))
        });
        match rests.map(str::len).max() {
            Some(rest) => format!("{ERASED}{}", self.erase(&text[rest..])),
            None => self.erase(text),
        }
    }

    /// The same for all texts within `value`, and the names of its fields.
    pub fn erase_value(&self, value: Value) -> Value {
        match value {
            _ if self.0.is_empty() => value,
            Value::String(text) => Value::String(self.erase(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.erase_value(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (self.erase(&name), self.erase_value(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// Looks for them in an answer that is told piece by piece. What is shorter than a vendor's key
    /// is not looked for.
    pub fn watch(&self) -> KeyWatch {
        let keys = self.0.iter().filter(|key| key.text.len() >= RECOGNISED_BYTES_MIN).cloned();
        KeyWatch { keys: keys.collect(), held: String::new() }
    }
}

/// How JSON may write `key` within a string, where that is not `key` itself.
fn escaped(key: &str) -> impl Iterator<Item = String> {
    let quoted = Value::from(key).to_string();
    let written = quoted[1..quoted.len() - 1].to_owned();
    let slashed = written.replace('/', "\\/");
    [written, slashed].into_iter().filter(move |written| written != key)
}

/// What was told until now but not shown yet, because it may be the beginning of a key.
pub struct KeyWatch {
    keys: Vec<NamedKey>,
    held: String,
}

/// A key was told. None of it has been shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakedKey {
    /// Where that key came from.
    pub name: String,
}

impl KeyWatch {
    /// Takes the next piece, and gives what can be shown by now.
    pub fn hear(&mut self, piece: &str) -> Result<String, LeakedKey> {
        self.held.push_str(piece);
        if let Some(key) = self.keys.iter().find(|key| self.held.contains(&key.text)) {
            return Err(LeakedKey { name: key.name.clone() });
        }
        let shown = self.keys.iter().map(|key| begins_at(&self.held, &key.text)).min().unwrap_or(self.held.len());
        let rest = self.held.split_off(shown);
        Ok(std::mem::replace(&mut self.held, rest))
    }

    /// Nothing more comes, so what was held back is no key.
    pub fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Where the longest end of `text` begins that is a beginning of `key`; at its very end where there
/// is none.
fn begins_at(text: &str, key: &str) -> usize {
    let from = text.len().saturating_sub(key.len() - 1);
    let mut ends = (from..text.len()).filter_map(|at| Some((at, text.get(at..)?)));
    ends.find(|(_, end)| key.starts_with(end)).map_or(text.len(), |(at, _)| at)
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ERASED)
    }
}

impl fmt::Debug for KeyWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ERASED)
    }
}

#[cfg(test)]
mod tests;
