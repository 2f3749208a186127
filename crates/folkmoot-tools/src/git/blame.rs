//! Which commit each line of a file is from.

use std::collections::HashMap;

use folkmoot_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GitCommand, GitError, Repository, history::seconds};

/// A line of a file, and the commit that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameLine {
    /// Which one, from 1.
    pub number: u64,
    /// What it says.
    pub text: String,
    /// The commit that it is from.
    pub commit: String,
    /// Who wrote that.
    pub author: String,
    /// When that was written.
    pub at: Timestamp,
}

impl Repository {
    /// Each line of a file as it is in `revision`, and where it comes from.
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

/// An id of git's has no more, whichever hash it uses.
const ID_BYTES_MAX: usize = 64;
/// Whoever is called longer than this is called so on every line, and a few lines would fill the
/// memory.
const AUTHOR_BYTES_MAX: usize = 256;

/// Reads `--porcelain`: `<id> <line before> <line> [<lines>]`, what is known about that commit if
/// it is the first time, and the line itself behind a tab.
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
        // The first row after a line names the commit; nothing before it can.
        if commit.is_empty() {
            commit = first(word, ID_BYTES_MAX);
            number = rest.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
            commits.entry(commit).or_insert(("", Timestamp::from_micros(0)));
            continue;
        }
        let known = commits.entry(commit).or_insert(("", Timestamp::from_micros(0)));
        match word {
            "author" => known.0 = first(rest, AUTHOR_BYTES_MAX),
            "author-time" => known.1 = seconds(rest),
            _ => {}
        }
    }
    lines
}

/// As much of a text as these bytes hold.
fn first(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests;
