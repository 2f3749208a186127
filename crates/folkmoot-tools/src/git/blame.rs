//! Blame: the commit of each line of a file.

use std::collections::HashMap;

use folkmoot_core::{Timestamp, text::cut};
use serde::{Deserialize, Serialize};

use super::{GitCommand, GitError, Repository, history::seconds};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameLine {
    /// From 1.
    pub number: u64,
    pub text: String,
    pub commit: String,
    pub author: String,
    pub at: Timestamp,
}

impl Repository {
    /// Blames a file at `revision`.
    pub async fn blame(&self, revision: &str, path: &str) -> Result<Vec<BlameLine>, GitError> {
        super::path::check(path).map_err(GitError::Invalid)?;
        let commit = self.resolve(revision).await?;
        let place = self.reading();
        let call =
            GitCommand::new(&place, ["blame", "--porcelain", "--no-textconv", "--no-progress", &commit, "--", path]);
        let answer = self.git.ask(call).await?;
        match answer.code {
            Some(0) => Ok(lines_of(&String::from_utf8_lossy(&answer.stdout))),
            _ if answer.stderr.contains("no such path") => {
                Err(GitError::Invalid(format!("there is no file {path:?} in {commit}")))
            }
            _ => Err(answer.failed()),
        }
    }
}

/// The longest id, for any hash.
const ID_BYTES_MAX: usize = 64;
/// A longer name would be repeated on every line and could fill the memory.
const AUTHOR_BYTES_MAX: usize = 256;

/// Parses `--porcelain`: `<id> <line before> <line> [<lines>]`, the commit's headers if it is new,
/// and the line itself after a tab.
fn lines_of(answer: &str) -> Vec<BlameLine> {
    let mut commits: HashMap<&str, (&str, Timestamp)> = HashMap::new();
    let mut lines = Vec::new();
    let (mut commit, mut number) = ("", 0);
    for row in answer.split('\n') {
        if let Some(text) = row.strip_prefix('\t') {
            let (author, at) = commits.get(commit).copied().unwrap_or(("", Timestamp::from_micros(0)));
            lines.push(BlameLine { number, text: text.into(), commit: commit.into(), author: author.into(), at });
            commit = "";
            continue;
        }
        let (word, rest) = row.split_once(' ').unwrap_or((row, ""));
        // The first row after a line names the commit.
        if commit.is_empty() {
            commit = cut(word, ID_BYTES_MAX);
            number = rest.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
            commits.entry(commit).or_insert(("", Timestamp::from_micros(0)));
            continue;
        }
        let known = commits.entry(commit).or_insert(("", Timestamp::from_micros(0)));
        match word {
            "author" => known.0 = cut(rest, AUTHOR_BYTES_MAX),
            "author-time" => known.1 = seconds(rest),
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests;
