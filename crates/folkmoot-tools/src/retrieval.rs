//! Full text search over a folder, for agents that look for something in a project.
//!
//! Text files are cut into pieces of some lines and put into SQLite's FTS5. What is found goes to
//! models and so to their providers: files that hold secrets are never read, links are never
//! followed, and all that was left out is listed with its reason, because "nothing found" must not
//! mean "not looked at".

mod secret;

use std::path::Path;

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

pub use secret::is_secret;

use crate::beneath::{DirEntryKind, Folder};

/// How much is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrievalLimits {
    /// The longest file.
    pub file_bytes: u64,
    /// All files together.
    pub total_bytes: u64,
    /// How many files.
    pub files: usize,
    /// How deep folders are in one another.
    pub depth: usize,
}

impl Default for RetrievalLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 20, total_bytes: 256 << 20, files: 50_000, depth: 40 }
    }
}

/// Lines of one piece. A function fits, and several pieces fit into a prompt.
const LINES: u32 = 30;
/// A piece ends earlier where its lines are long.
const PIECE_BYTES: usize = 8 << 10;
/// Words of a query that count.
const TERMS_MAX: usize = 32;
/// Most hits at once.
const HITS_MAX: usize = 200;

/// Folders with what was made or fetched, and not written.
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

/// An index that can be searched. Its methods block: call them where that is allowed.
#[derive(Debug)]
pub struct Index {
    database: Connection,
}

/// What became of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    /// How many files can be searched.
    pub files: usize,
    /// How many of them had not changed since the last time.
    pub unchanged: usize,
    /// What cannot, and why.
    pub skipped: Vec<SkippedFile>,
}

/// Something that cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// The path from the folder.
    pub path: String,
    pub reason: SkipReason,
}

folkmoot_core::vocabulary! {
    /// Why a file is not indexed.
    pub enum SkipReason {
        /// It is, or may hold, a secret.
        Secret = "secret",
        /// It is no text.
        Binary = "binary",
        /// It is longer than a file may be.
        TooLarge = "too_large",
        /// It would be more than all files together may be.
        TooMuch = "too_much",
        /// A folder with what was made or fetched.
        Generated = "generated",
        /// A link; what it leads to may be anywhere.
        Link = "link",
        /// A pipe, socket or device.
        Special = "special",
        /// The system does not let us, or its name is no text.
        Unreadable = "unreadable",
    }
}

/// A piece of a file that matches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The path from the folder.
    pub path: String,
    /// Its first and last line, from 1.
    pub lines: (u32, u32),
    /// The lines.
    pub text: String,
    /// How well it matches; more is better.
    pub score: f64,
}

/// Why an index gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// The folder cannot be read.
    #[error("cannot read {folder}: {source}")]
    Folder {
        folder: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The index cannot be read or written.
    #[error("the index failed, remove its file and build it again: {0}")]
    Index(#[from] rusqlite::Error),
}

impl Index {
    /// An index in memory.
    pub fn in_memory() -> Result<Self, RetrievalError> {
        Self::on(Connection::open_in_memory()?)
    }

    /// An index in a file, which the next [`Index::update`] only has to bring up to date. It has
    /// the text of the project in it.
    pub fn in_file(path: &Path) -> Result<Self, RetrievalError> {
        Self::on(Connection::open(path)?)
    }

    fn on(database: Connection) -> Result<Self, RetrievalError> {
        // `_` belongs to words as a rule, but who looks for `worktree` wants `worktree_add` as
        // well.
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS file (path TEXT PRIMARY KEY, stamp TEXT NOT NULL) STRICT, WITHOUT ROWID;
             CREATE VIRTUAL TABLE IF NOT EXISTS piece USING fts5(
                 text, path, first UNINDEXED, last UNINDEXED, tokenize = \"unicode61 remove_diacritics 2\");",
        )?;
        Ok(Self { database })
    }

    /// Takes in a folder: what is new or has another size or time is read, and what is gone is
    /// removed. All of it or, when it fails, nothing.
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

    /// The pieces with most of the words of `query`, or words that begin so, the best first.
    /// Nothing in a query is an operator.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, RetrievalError> {
        let Some(expression) = expression(query) else { return Ok(Vec::new()) };
        // A path that has the word is worth more than a line that has it. The rest of the order is
        // only for there to be one.
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

/// A file that may be indexed.
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

/// Pieces of a text, with their first and last line.
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

/// The query as FTS5 reads it: each word in quotes, and any of them.
fn expression(query: &str) -> Option<String> {
    let mut terms: Vec<String> = Vec::new();
    // What FTS5 takes for the inside of a word is at least letters and digits; the rest only
    // separates.
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
