//! Full-text search over a folder, for agents.
//!
//! Text files are split into pieces of some lines and indexed with SQLite's FTS5. Results go to
//! models and so to their providers. Therefore files with secrets are never read and links never
//! followed. Everything left out is listed with its reason, because "nothing found" must not mean
//! "not searched".

mod secret;

use std::path::Path;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

pub use secret::is_secret;

use crate::beneath::{DirEntryKind, Folder};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalLimits {
    pub file_bytes: u64,
    pub total_bytes: u64,
    pub files: usize,
    /// The maximum nesting of folders.
    pub depth: usize,
}

impl Default for RetrievalLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 20, total_bytes: 256 << 20, files: 50_000, depth: 40 }
    }
}

/// Lines per piece: a function fits, and several pieces fit into a prompt.
const LINES: u32 = 30;
/// A piece with long lines ends earlier.
const PIECE_BYTES: usize = 8 << 10;
/// Words of a query that are used.
const TERMS_MAX: usize = 32;
const HITS_MAX: usize = 200;

/// Folders with generated or downloaded files.
const GENERATED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "target",
    "node_modules",
    ".venv",
    "venv",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".terraform",
    ".cache",
];

/// A searchable index. Its methods block.
#[derive(Debug)]
pub struct Index {
    database: Connection,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    pub files: usize,
    /// How many files had not changed since the last time.
    pub unchanged: usize,
    pub skipped: Vec<SkippedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    pub path: String,
    pub reason: SkipReason,
}

folkmoot_core::vocabulary! {
    /// Why a file is not indexed.
    pub enum SkipReason {
        /// It is, or may contain, a secret.
        Secret = "secret",
        Binary = "binary",
        TooLarge = "too_large",
        /// It would exceed the total limit.
        TooMuch = "too_much",
        /// A folder with generated or downloaded files.
        Generated = "generated",
        /// A link, which may lead anywhere.
        Link = "link",
        /// A pipe, socket or device.
        Special = "special",
        /// No permission, or its name is not text.
        Unreadable = "unreadable",
    }
}

/// A matching piece of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub path: String,
    /// The first and last line, from 1.
    pub lines: (u32, u32),
    pub text: String,
    /// Higher is better.
    pub score: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    #[error("cannot read {folder}: {source}")]
    Folder { folder: String, source: std::io::Error },
    #[error("the index failed, remove its file and build it again: {0}")]
    Index(#[from] rusqlite::Error),
}

impl Index {
    pub fn in_memory() -> Result<Self, RetrievalError> {
        Self::on(Connection::open_in_memory()?)
    }

    /// An index in a file, which [`Index::update`] brings up to date. It contains the text of the
    /// project.
    pub fn in_file(path: &Path) -> Result<Self, RetrievalError> {
        Self::on(Connection::open(path)?)
    }

    fn on(database: Connection) -> Result<Self, RetrievalError> {
        // `_` separates words here, so that `worktree` finds `worktree_add`.
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) STRICT, WITHOUT ROWID;
             CREATE VIRTUAL TABLE IF NOT EXISTS piece USING fts5(
                 text, path, first UNINDEXED, last UNINDEXED, tokenize = \"unicode61 remove_diacritics 2\");",
        )?;
        Ok(Self { database })
    }

    /// Indexes a folder: reads new files and those with another size or time, and removes missing
    /// ones. On failure nothing changes.
    pub fn update(&mut self, folder: &Path, limits: &RetrievalLimits) -> Result<IndexReport, RetrievalError> {
        let failed = |source| RetrievalError::Folder { folder: folder.display().to_string(), source };
        let beneath = Folder::open(folder).map_err(failed)?;
        let mut indexed = IndexReport::default();
        let found = walk(&beneath, limits, &mut indexed.skipped).map_err(failed)?;

        let tx = self.database.transaction()?;
        tx.execute_batch("CREATE TEMP TABLE seen (path TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;")?;
        {
            let mut stamp_of = tx.prepare("SELECT stamp FROM file WHERE path = ?1")?;
            let mut see = tx.prepare("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            let mut forget = tx.prepare("DELETE FROM piece WHERE path = ?1")?;
            let mut remember = tx.prepare("INSERT OR REPLACE INTO file VALUES (?1, ?2)")?;
            let mut insert = tx.prepare("INSERT INTO piece (text, path, first, last) VALUES (?1, ?2, ?3, ?4)")?;
            for file in found {
                let old: Option<String> = stamp_of.query_row([&file.path], |row| row.get(0)).ok();
                if old.as_deref() == Some(&file.stamp) {
                    see.execute([&file.path])?;
                    indexed.files += 1;
                    indexed.unchanged += 1;
                    continue;
                }
                let text = match read(&beneath, &file.path, limits) {
                    Ok(text) => text,
                    Err(reason) => {
                        indexed.skipped.push(SkippedFile { path: file.path, reason });
                        continue;
                    }
                };
                if old.is_some() {
                    forget.execute([&file.path])?;
                }
                for (first, last, piece) in pieces(&text) {
                    insert.execute(params![piece, file.path, first, last])?;
                }
                remember.execute([&file.path, &file.stamp])?;
                see.execute([&file.path])?;
                indexed.files += 1;
            }
        }
        tx.execute_batch(
            "DELETE FROM piece WHERE path NOT IN (SELECT path FROM seen);
             DELETE FROM file WHERE path NOT IN (SELECT path FROM seen);
             DROP TABLE seen;",
        )?;
        tx.commit()?;
        indexed.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(indexed)
    }

    /// The pieces with the most words of `query`, or words that begin so, the best first. A query
    /// has no operators.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, RetrievalError> {
        let Some(expression) = expression(query) else { return Ok(Vec::new()) };
        // A match in the path counts more than one in a line. The other columns only make the order
        // stable.
        let mut statement = self.database.prepare(
            "SELECT path, first, last, text, bm25(piece, 1.0, 4.0) FROM piece WHERE piece MATCH ?1
             ORDER BY bm25(piece, 1.0, 4.0), path, first LIMIT ?2",
        )?;
        let limit = i64::try_from(limit.min(HITS_MAX)).unwrap_or(0);
        let hits = statement.query_map(params![expression, limit], |row| {
            let score: f64 = row.get(4)?;
            Ok(Hit { path: row.get(0)?, lines: (row.get(1)?, row.get(2)?), text: row.get(3)?, score: -score })
        })?;
        Ok(hits.collect::<Result<_, _>>()?)
    }
}

struct IndexCandidate {
    path: String,
    /// Changes when the file does.
    stamp: String,
}

fn walk(
    beneath: &Folder,
    limits: &RetrievalLimits,
    skipped: &mut Vec<SkippedFile>,
) -> std::io::Result<Vec<IndexCandidate>> {
    let mut found = Vec::new();
    let mut bytes_left = limits.total_bytes;
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let entries = match beneath.list(&folder) {
            Ok(entries) => entries,
            Err(error) if folder.is_empty() => return Err(error),
            Err(_) => {
                skipped.push(SkippedFile { path: folder, reason: SkipReason::Unreadable });
                continue;
            }
        };
        for entry in entries {
            let name = entry.path.rsplit('/').next().unwrap_or_default();
            let reason = match entry.kind {
                DirEntryKind::Link => SkipReason::Link,
                DirEntryKind::Special => SkipReason::Special,
                DirEntryKind::Unreadable => SkipReason::Unreadable,
                DirEntryKind::Folder if GENERATED.contains(&name) => SkipReason::Generated,
                DirEntryKind::Folder | DirEntryKind::File { .. } if is_secret(&entry.path) => SkipReason::Secret,
                DirEntryKind::Folder if depth >= limits.depth => SkipReason::TooMuch,
                DirEntryKind::Folder => {
                    folders.push((entry.path, depth + 1));
                    continue;
                }
                DirEntryKind::File { bytes, .. } if bytes > limits.file_bytes => SkipReason::TooLarge,
                DirEntryKind::File { bytes, .. } if bytes > bytes_left || found.len() >= limits.files => {
                    SkipReason::TooMuch
                }
                DirEntryKind::File { bytes, changed } => {
                    bytes_left -= bytes;
                    found.push(IndexCandidate { path: entry.path, stamp: format!("{bytes} {changed}") });
                    continue;
                }
            };
            skipped.push(SkippedFile { path: entry.path, reason });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn read(beneath: &Folder, path: &str, limits: &RetrievalLimits) -> Result<String, SkipReason> {
    // It may have grown since it was listed.
    let content =
        beneath.read(path, limits.file_bytes + 1).map_err(|_| SkipReason::Unreadable)?.ok_or(SkipReason::Unreadable)?;
    if content.len() as u64 > limits.file_bytes {
        return Err(SkipReason::TooLarge);
    }
    if content.contains(&0) {
        return Err(SkipReason::Binary);
    }
    let text = String::from_utf8(content).map_err(|_| SkipReason::Binary)?;
    if secret::holds_a_key(&text) { Err(SkipReason::Secret) } else { Ok(text) }
}

/// Splits a text into pieces with their first and last lines.
fn pieces(text: &str) -> Vec<(u32, u32, &str)> {
    let mut pieces = Vec::new();
    let (mut begin, mut end, mut first, mut number) = (0, 0, 1, 0_u32);
    for line in text.split_inclusive('\n') {
        let full = number + 1 - first >= LINES || end - begin + line.len() > PIECE_BYTES;
        if full && end > begin {
            pieces.push((first, number, &text[begin..end]));
            (begin, first) = (end, number + 1);
        }
        number += 1;
        end += line.len();
    }
    if end > begin {
        pieces.push((first, number, &text[begin..end]));
    }
    pieces
}

/// The query in FTS5 syntax: any of the quoted words.
fn expression(query: &str) -> Option<String> {
    let mut terms: Vec<String> = Vec::new();
    // FTS5's words contain at least letters and digits; everything else separates.
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let term = format!("\"{}\"*", word.chars().take(64).collect::<String>());
        if terms.len() < TERMS_MAX && !terms.contains(&term) {
            terms.push(term);
        }
    }
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

#[cfg(test)]
mod tests;
