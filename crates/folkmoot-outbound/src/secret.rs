//! A key that is shown only to its vendor.

use std::{
    fmt,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use crate::Keys;

/// A key. It cannot be printed, compared or serialised. It knows its origin, so that errors can say
/// where to change it.
#[derive(Clone)]
pub struct Secret {
    text: String,
    origin: String,
}

/// Why a key cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The variable is not set.
    #[error("the environment has no {0}: set it to the key")]
    NotSet(String),
    /// The variable or file is empty.
    #[error("{0} is empty: put the key there, or remove it")]
    Empty(String),
    /// It is not a single line of printable ASCII.
    #[error("{0} is not a key: a key is one line of visible ASCII characters")]
    NotAKey(String),
    /// Other users can read the file.
    #[error("{} can be read by others (mode {mode:03o}): run `chmod 600 {}`", .path.display(), .path.display())]
    Exposed {
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    #[error("{} cannot be read as a key file: {reason}", .path.display())]
    Unreadable { path: PathBuf, reason: String },
}

/// Longer than any vendor's key.
const KEY_BYTES_MAX: usize = 8 * 1024;

impl Secret {
    /// A key from `origin`: the name of a variable or a file.
    pub fn new(text: &str, origin: impl Into<String>) -> Result<Self, Error> {
        let (text, origin) = (text.trim(), origin.into());
        if text.is_empty() {
            return Err(Error::Empty(origin));
        }
        if text.len() > KEY_BYTES_MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::NotAKey(origin));
        }
        Ok(Self { text: text.to_owned(), origin })
    }

    pub fn from_env(variable: &str) -> Result<Self, Error> {
        match std::env::var(variable) {
            Ok(text) => Self::new(&text, variable),
            Err(std::env::VarError::NotPresent) => Err(Error::NotSet(variable.to_owned())),
            Err(std::env::VarError::NotUnicode(_)) => Err(Error::NotAKey(variable.to_owned())),
        }
    }

    /// Reads the only line of the file at `path`. Nobody but its owner may have access to the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let unreadable = |reason: String| Error::Unreadable { path: path.to_owned(), reason };
        // Check before opening, because opening a pipe blocks until somebody writes to it.
        let is_file = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.is_file();
        if !is_file {
            return Err(unreadable("it is not a file".to_owned()));
        }
        let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
        must_be_private(&file, path)?;
        let mut text = String::new();
        file.take(KEY_BYTES_MAX as u64 + 1).read_to_string(&mut text).map_err(|error| unreadable(error.to_string()))?;
        Self::new(&text, path.display().to_string())
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The key, for the header that carries it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    /// As the single key that must not be shown.
    pub fn keys(&self) -> Keys {
        Keys::new([(&self.origin, &self.text)])
    }
}

#[cfg(unix)]
fn must_be_private(file: &File, path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;

    let metadata =
        file.metadata().map_err(|error| Error::Unreadable { path: path.into(), reason: error.to_string() })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(Error::Exposed { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn must_be_private(_: &File, _: &Path) -> Result<(), Error> {
    Ok(())
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests;
