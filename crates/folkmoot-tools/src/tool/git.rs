//! Diff, history and blame of one repository. Nothing is changed.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, ToolErrorCode, parsed};
use crate::{GitError, Repository, Worktree, foreign};

/// How much of a diff is returned.
const DIFF_BYTES: usize = 32 * 1024;
const FILES_MAX: usize = 200;
/// How many commits at once.
const COMMITS_MAX: usize = 50;
/// The maximum number of lines, and the length of one.
const LINES_MAX: u64 = 150;
const LINE_BYTES: usize = 200;

/// What an agent can see of a repository: the changes between two commits, and their history.
#[derive(Clone, Debug)]
pub struct CommitRange {
    repository: Repository,
    from: String,
    to: String,
}

impl CommitRange {
    /// What a run has committed on its branch.
    pub fn of_worktree(worktree: &Worktree) -> Self {
        let branch = format!("refs/heads/{}", worktree.branch());
        Self { repository: worktree.repository().clone(), from: worktree.base().to_owned(), to: branch }
    }

    /// Between two revisions.
    pub fn of_repository(repository: Repository, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { repository, from: from.into(), to: to.into() }
    }

    /// The three tools.
    pub fn tools(self) -> [GitTool; 3] {
        [GitVerb::Diff, GitVerb::History, GitVerb::Blame].map(|verb| GitTool { range: self.clone(), verb })
    }
}

#[derive(Clone, Debug)]
pub struct GitTool {
    range: CommitRange,
    verb: GitVerb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitVerb {
    Diff,
    History,
    Blame,
}

impl GitTool {
    pub const NAMES: [&str; 3] = ["git_diff", "git_history", "git_blame"];

    async fn diff(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            from: Option<String>,
            to: Option<String>,
        }
        let Arguments { from, to } = parsed(arguments)?;
        let CommitRange { repository, from: first, to: last } = &self.range;
        let diff = repository.diff(from.as_ref().unwrap_or(first), to.as_ref().unwrap_or(last)).await?;
        let files = diff.files.iter().take(FILES_MAX).map(|file| {
            let (added, removed) = file.lines.unzip();
            super::without_nulls(json!({
                "path": foreign::text(&file.path, LINE_BYTES), "was": file.was.as_deref().map(|was| foreign::text(was, LINE_BYTES)),
                "change": file.change, "lines_added": added, "lines_removed": removed,
            }))
        });
        let text = foreign::text(&diff.text, DIFF_BYTES);
        let is_cut = diff.cut || diff.text.len() > DIFF_BYTES || diff.files.len() > FILES_MAX;
        Ok(json!({
            "from": diff.from, "to": diff.to, "files_changed": diff.files.len(), "files": files.collect::<Vec<_>>(),
            "text": text, "is_cut": is_cut,
        }))
    }

    async fn history(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            path: String,
            revision: Option<String>,
            limit: Option<usize>,
        }
        let Arguments { path, revision, limit } = parsed(arguments)?;
        let limit = limit.unwrap_or(COMMITS_MAX).min(COMMITS_MAX);
        let revision = revision.as_ref().unwrap_or(&self.range.to);
        let commits = self.range.repository.history(revision, &path, limit).await?;
        let commits = commits.iter().map(|commit| {
            json!({
                "commit": commit.commit, "author": foreign::text(&commit.author, LINE_BYTES), "at": commit.at,
                "subject": foreign::text(&commit.subject, LINE_BYTES),
            })
        });
        Ok(json!({ "commits": commits.collect::<Vec<_>>() }))
    }

    async fn blame(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            path: String,
            revision: Option<String>,
            first_line: Option<u64>,
            last_line: Option<u64>,
        }
        let Arguments { path, revision, first_line, last_line } = parsed(arguments)?;
        let all = self.range.repository.blame(revision.as_ref().unwrap_or(&self.range.to), &path).await?;
        let first = first_line.unwrap_or(1);
        let last = last_line.unwrap_or(u64::MAX).min(first.saturating_add(LINES_MAX - 1));
        let lines = all.iter().filter(|line| (first..=last).contains(&line.number)).map(|line| {
            json!({
                "line": line.number, "text": foreign::text(&line.text, LINE_BYTES), "commit": line.commit.get(..12),
                "author": foreign::text(&line.author, 60), "at": line.at,
            })
        });
        Ok(json!({ "lines": lines.collect::<Vec<_>>(), "lines_of_file": all.len() }))
    }
}

impl From<GitError> for ToolError {
    fn from(error: GitError) -> Self {
        let code = match error {
            GitError::Missing(_) | GitError::NotARepository(_) => ToolErrorCode::Missing,
            GitError::Invalid(_) => ToolErrorCode::InvalidArguments,
            GitError::TimedOut { .. } => ToolErrorCode::TimedOut,
            GitError::TooLarge(_) => ToolErrorCode::TooLarge,
            GitError::Conflict(_) | GitError::Failed { .. } | GitError::Io { .. } => ToolErrorCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

impl Tool for GitTool {
    fn name(&self) -> &str {
        Self::NAMES[self.verb as usize]
    }

    fn description(&self) -> &str {
        match self.verb {
            GitVerb::Diff => {
                "What differs between two commits of the project: every file, and the text as far as it fits. Without arguments, what \
                 was committed since the work began. What is not committed is not in it."
            }
            GitVerb::History => {
                "The commits that touched a file of the project, also under earlier names, the newest first."
            }
            GitVerb::Blame => "Which commit each line of a file of the project is from, and who wrote it.",
        }
    }

    fn arguments(&self) -> Value {
        let revision =
            json!({ "type": "string", "minLength": 1, "maxLength": 512, "description": "an id, a branch, a tag" });
        let path =
            json!({ "type": "string", "minLength": 1, "maxLength": 1024, "description": "from the project's top" });
        let line = json!({ "type": "integer", "minimum": 1 });
        let (properties, required) = match self.verb {
            GitVerb::Diff => (json!({ "from": revision, "to": revision }), json!([])),
            GitVerb::History => {
                let limit = json!({ "type": "integer", "minimum": 1, "maximum": COMMITS_MAX });
                (json!({ "path": path, "revision": revision, "limit": limit }), json!(["path"]))
            }
            GitVerb::Blame => {
                (json!({ "path": path, "revision": revision, "first_line": line, "last_line": line }), json!(["path"]))
            }
        };
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        match self.verb {
            GitVerb::Diff => self.diff(arguments).boxed(),
            GitVerb::History => self.history(arguments).boxed(),
            GitVerb::Blame => self.blame(arguments).boxed(),
        }
    }
}
