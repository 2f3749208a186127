//! The commits that changed a file.

use folkmoot_core::Timestamp;
use serde::{Deserialize, Serialize};

use super::{GitCommand, GitError, Repository};

const COMMITS_MAX: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    pub commit: String,
    pub author: String,
    pub at: Timestamp,
    pub subject: String,
}

impl Repository {
    /// The commits up to `revision` that changed a file, also under earlier names, the newest
    /// first.
    pub async fn history(&self, revision: &str, path: &str, limit: usize) -> Result<Vec<Revision>, GitError> {
        super::path::check(path).map_err(GitError::Invalid)?;
        let commit = self.resolve(revision).await?;
        let place = self.reading();
        let most = format!("--max-count={}", limit.min(COMMITS_MAX));
        let call = GitCommand::new(
            &place,
            [
                "log",
                "-z",
                "--follow",
                "--no-ext-diff",
                "--no-textconv",
                "--no-show-signature",
                "--no-mailmap",
                "--format=%H%x00%an%x00%at%x00%s",
                &most,
                &commit,
                "--",
                path,
            ],
        );
        let answer = self.git.run(call).await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let fields: Vec<&str> = text.split('\0').collect();
        let revisions = fields.chunks_exact(4).map(|fields| Revision {
            commit: fields[0].to_owned(),
            author: fields[1].to_owned(),
            at: seconds(fields[2]),
            subject: fields[3].to_owned(),
        });
        Ok(revisions.collect())
    }
}

/// Parses git's time. Invalid values become the epoch.
pub(super) fn seconds(text: &str) -> Timestamp {
    Timestamp::from_micros(text.parse::<i64>().ok().and_then(|seconds| seconds.checked_mul(1_000_000)).unwrap_or(0))
}
