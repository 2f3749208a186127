//! The fence around text from outside.
//!
//! ```text
//! [[data topic 5be2c4f09d1a7733]]
//! whatever somebody wrote
//! [[end 5be2c4f09d1a7733]]
//! ```
//!
//! The mark comes from a hash of all texts of the rendering, and is in none of them. Who writes a
//! text cannot know it: it depends on what they write, and on what others write. It is the same
//! whenever the texts are, so that a replay sends the same bytes.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use folkmoot_core::Digest;
use minijinja::{
    Error, ErrorKind, State, Value,
    value::{Object, ObjectRepr},
};

#[cfg(test)]
mod tests;

/// What is wrong where data has spilled, for errors.
pub(super) const SPILLED: &str =
    "here or above, data is compared, or pasted to something else; write it as {{ name | fence(\"label\") }}";
/// What to do with data, for errors.
pub(super) const HOW: &str = "write it as {{ name | fence(\"label\") }}";

/// How long a mark is. 64 bits: a text that is to contain its own mark, in whatever spelling, takes
/// 2^64 attempts.
const MARK_DIGITS: usize = 16;
/// The longest label, in bytes.
const LABEL_BYTES_MAX: usize = 64;

/// What all data of one rendering shares.
#[derive(Debug)]
pub(super) struct Rendering {
    mark: String,
    /// Some data was turned to text without a fence.
    spilled: AtomicBool,
}

impl Rendering {
    pub(super) fn of(texts: &[&str]) -> Self {
        Self { mark: mark(texts, MARK_DIGITS), spilled: AtomicBool::new(false) }
    }

    pub(super) fn has_spilled(&self) -> bool {
        self.spilled.load(Ordering::Relaxed)
    }
}

/// The variable that holds the rendering. With a space in its name, no template can name it.
pub(super) const RENDERING: &str = "the rendering";

/// So that whatever writes can ask it.
impl Object for Rendering {}

/// Text from outside, as templates hold it: it can be fenced, and asked whether there is any.
struct Data {
    text: String,
    rendering: Arc<Rendering>,
}

pub(super) fn data(text: &str, rendering: &Arc<Rendering>) -> Value {
    Value::from_object(Data { text: text.to_owned(), rendering: rendering.clone() })
}

/// Whether data has been turned to text until now, without a fence.
pub(super) fn has_spilled(state: &State) -> bool {
    let rendering = state.lookup(RENDERING);
    rendering.and_then(|value| value.downcast_object::<Rendering>()).is_some_and(|rendering| rendering.has_spilled())
}

pub(super) fn is_data(value: &Value) -> bool {
    value.downcast_object_ref::<Data>().is_some()
}

/// The filter `fence`.
pub(super) fn fence(value: &Value, label: &str) -> Result<String, Error> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    let Some(data) = value.downcast_object_ref::<Data>() else {
        let problem = format!("only data is fenced, and this {} is not data; write it without", value.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " -_".contains(c);
    if label.is_empty() || label.len() > LABEL_BYTES_MAX || !label.chars().all(is_plain) {
        let problem = "the label of a fence is up to 64 letters, digits, spaces, - and _";
        return Err(Error::new(ErrorKind::InvalidOperation, problem));
    }
    let (text, mark) = (&data.text, &data.rendering.mark);
    Ok(format!("[[data {label} {mark}]]\n{text}\n[[end {mark}]]"))
}

/// Digits that are in none of the texts, and always the same for the same texts.
fn mark(texts: &[&str], digits: usize) -> String {
    let mut all = Vec::with_capacity(texts.iter().map(|text| text.len() + 8).sum());
    for text in texts {
        // With its length, or "a", "bc" would be as "ab", "c".
        all.extend_from_slice(&(text.len() as u64).to_be_bytes());
        all.extend_from_slice(text.as_bytes());
    }
    let mut digest = Digest::of(&all);
    loop {
        let mark = digest.hex()[..digits].to_owned();
        if !texts.iter().any(|text| text.contains(&mark)) {
            return mark;
        }
        digest = Digest::of(digest.as_bytes());
    }
}

impl Object for Data {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        !self.text.is_empty()
    }

    // Not an error: the engine formats with `to_string` in places, which panics at one. The
    // rendering is refused afterwards.
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rendering.spilled.store(true, Ordering::Relaxed);
        f.write_str("(data)")
    }
}

/// Without the text, which may be long and is nobody's business in an error.
impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rendering.spilled.store(true, Ordering::Relaxed);
        f.write_str("(data)")
    }
}
