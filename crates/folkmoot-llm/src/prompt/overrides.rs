//! The user's own prompts: a folder with files of the same names as ours.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{PromptError, Prompts};

#[cfg(test)]
mod tests;

/// The longest file.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// The files of `folder`, by the prompts that they replace.
pub(super) fn read(folder: &Path) -> Result<BTreeMap<&'static str, String>, PromptError> {
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
    let mut found = BTreeMap::new();
    for (name, path) in entries(&folder)? {
        if !path.is_dir() {
            return Err(unknown(path));
        }
        for (file, path) in entries(&path)? {
            let full = format!("{name}/{file}");
            let prompt = Prompts::names().find(|known| *known == full).ok_or_else(|| unknown(path.clone()))?;
            found.insert(prompt, text(&folder, &path)?);
        }
    }
    Ok(found)
}

/// The entries of a folder, sorted. Names that begin with a dot belong to editors and version
/// control.
fn entries(folder: &Path) -> Result<BTreeMap<String, PathBuf>, PromptError> {
    let listed: io::Result<Vec<fs::DirEntry>> = fs::read_dir(folder).and_then(Iterator::collect);
    let listed = listed.map_err(|error| unreadable(folder, error))?;
    let named = listed.iter().map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()));
    Ok(named.filter(|(name, _)| !name.starts_with('.')).collect())
}

fn text(folder: &Path, path: &Path) -> Result<String, PromptError> {
    let real = path.canonicalize().map_err(|error| unreadable(path, error))?;
    let refused = |problem: &str| Err(PromptError::Unreadable { path: path.to_owned(), problem: problem.to_owned() });
    if !real.starts_with(folder) {
        return refused("leads out of the folder of prompts; put the file itself there");
    }
    // Check before opening: opening a pipe would block.
    if !real.is_file() {
        return refused("is not a file");
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(&real).map_err(|error| unreadable(path, error))?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return refused(&format!("is longer than {FILE_BYTES_MAX} bytes; no prompt needs that"));
    }
    String::from_utf8(bytes).or_else(|_| refused("is not UTF-8; save it as that"))
}

fn unknown(path: PathBuf) -> PromptError {
    PromptError::UnknownFile { path, known: Prompts::names().collect() }
}

fn unreadable(path: &Path, error: io::Error) -> PromptError {
    PromptError::Unreadable { path: path.to_owned(), problem: format!("cannot be read: {error}") }
}
