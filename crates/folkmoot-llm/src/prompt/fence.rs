//! The fence around text from outside.
//!
//! ```text
//! [[data topic 5be2c4f09d1a7733]]
//! whatever somebody wrote
//! [[end 5be2c4f09d1a7733]]
//! ```
//!
//! The mark is derived from a hash of all texts of the rendering and occurs in none of them. An
//! author cannot predict it, because it depends on their own text and on the others'. The same
//! texts give the same mark, so that a replay sends the same bytes.

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

/// The error for data that was written without a fence.
pub(super) const SPILLED: &str =
    "here or above, data is compared, or pasted to something else; write it as {{ name | fence(\"label\") }}";
/// How to write data correctly, for errors.
pub(super) const HOW: &str = "write it as {{ name | fence(\"label\") }}";

/// The length of a mark: 64 bits. A text that contains its own mark would take 2^64 attempts.
const MARK_DIGITS: usize = 16;
/// The longest label, in bytes.
const LABEL_BYTES_MAX: usize = 64;

/// State shared by all data of one rendering.
#[derive(Debug)]
pub(super) struct Rendering {
    mark: String,
    /// Some data was converted to text without a fence.
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

/// The variable that holds the rendering. Its name contains a space, so no template can use it.
pub(super) const RENDERING: &str = "the rendering";

/// Lets the writer reach it.
impl Object for Rendering {}

/// Text from outside as a template value. It can be fenced and tested for emptiness.
struct Data {
    text: String,
    rendering: Arc<Rendering>,
}

pub(super) fn data(text: &str, rendering: &Arc<Rendering>) -> Value {
    Value::from_object(Data { text: text.to_owned(), rendering: rendering.clone() })
}

/// Whether data was converted to text without a fence.
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

/// Digits that occur in none of the texts, always the same for the same texts.
fn mark(texts: &[&str], digits: usize) -> String {
    let mut all = Vec::with_capacity(texts.iter().map(|text| text.len() + 8).sum());
    for text in texts {
        // Hash the length too, or "a", "bc" would equal "ab", "c".
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

    // Not an error here: the engine calls `to_string` in places, which panics on errors. The
    // rendering is refused afterwards.
    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rendering.spilled.store(true, Ordering::Relaxed);
        f.write_str("(data)")
    }
}

/// Without the text, which may be long and confidential.
impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rendering.spilled.store(true, Ordering::Relaxed);
        f.write_str("(data)")
    }
}
