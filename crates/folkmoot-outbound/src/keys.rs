//! Finds keys in other programs' output: erases them from explanations, and detects them in
//! answers.

use std::fmt;

use serde_json::Value;

/// A shorter text that equals the key is probably an ordinary word in an error message.
const ERASED_BYTES_MIN: usize = 6;
/// A shorter text that equals the key is probably an ordinary word in an answer: local servers
/// accept `none`, `ollama` and the like as keys.
const RECOGNISED_BYTES_MIN: usize = 20;
/// Replaces a key.
const ERASED: &str = "…";

/// Texts that must not be shown, each with its origin. They cannot be printed.
#[derive(Clone, Default)]
pub struct Keys(Vec<NamedKey>);

#[derive(Clone)]
struct NamedKey {
    name: String,
    text: String,
}

impl Keys {
    /// Creates it from names and keys. Keys that are too short to be told from words are ignored.
    pub fn new<N: Into<String>, T: AsRef<str>>(named: impl IntoIterator<Item = (N, T)>) -> Self {
        let named = named.into_iter().map(|(name, text)| NamedKey {
            name: name.into(),
            // Ignore the line end that a file or shell added.
            text: text.as_ref().trim().to_owned(),
        });
        let mut keys: Vec<NamedKey> = named.filter(|key| key.text.len() >= ERASED_BYTES_MIN).collect();
        // Longer keys first: if one contains another, its rest would stay.
        keys.sort_by_key(|key| std::cmp::Reverse(key.text.len()));
        Self(keys)
    }

    /// Removes the keys from `text`, including keys that JSON has escaped.
    pub fn erase(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, key| {
            let text = text.replace(&key.text, ERASED);
            escaped(&key.text).fold(text, |text, key| text.replace(&key, ERASED))
        })
    }

    /// The same for a text whose beginning was cut off, perhaps inside a key.
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

    /// The same for all strings in `value`, including field names.
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

    /// Detects the keys in an answer that arrives in pieces. Keys shorter than a vendor's key are
    /// ignored.
    pub fn watch(&self) -> KeyWatch {
        let keys = self.0.iter().filter(|key| key.text.len() >= RECOGNISED_BYTES_MIN).cloned();
        KeyWatch { keys: keys.collect(), held: String::new() }
    }
}

/// The escaped forms of `key` in JSON, if they differ from `key`.
fn escaped(key: &str) -> impl Iterator<Item = String> {
    let quoted = Value::from(key).to_string();
    let written = quoted[1..quoted.len() - 1].to_owned();
    let slashed = written.replace('/', "\\/");
    [written, slashed].into_iter().filter(move |written| written != key)
}

/// Holds back text that may be the beginning of a key.
pub struct KeyWatch {
    keys: Vec<NamedKey>,
    held: String,
}

/// The answer contained a key. No part of it has been shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakedKey {
    /// The origin of the key.
    pub name: String,
}

impl KeyWatch {
    /// Takes the next piece, and returns what can be shown now.
    pub fn hear(&mut self, piece: &str) -> Result<String, LeakedKey> {
        self.held.push_str(piece);
        if let Some(key) = self.keys.iter().find(|key| self.held.contains(&key.text)) {
            return Err(LeakedKey { name: key.name.clone() });
        }
        let shown = self.keys.iter().map(|key| begins_at(&self.held, &key.text)).min().unwrap_or(self.held.len());
        let rest = self.held.split_off(shown);
        Ok(std::mem::replace(&mut self.held, rest))
    }

    /// Ends the answer. What was held back is not a key.
    pub fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// The start of the longest suffix of `text` that is a prefix of `key`; `text.len()` if there is
/// none.
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
