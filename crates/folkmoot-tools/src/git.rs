//! Git for runs: a worktree and a branch for each, with diffs, history and blame.
//!
//! ```text
//! Repository ─worktree(kind, run)─▶ Worktree, on branch `debate/<run>`
//!      │                               ├ commit, commit_all   ─▶ Committed
//!      │                               └ diff                 ─▶ Diff
//!      ├ diff, history, blame, list
//!      └ remove(kind, run): the folder, and the branch unless it is kept
//! ```
//!
//! It never touches the user's working tree, index, branches or configuration, never uses the
//! network, and never executes what a repository configures: no hook, filter, diff program or
//! monitor (`guard.rs`). A worktree is addressed by its git folder and working folder; the `.git`
//! file inside it is ignored, because an agent could change it.
//!
//! Every operation can be interrupted at any point. Repeating it completes it.

mod blame;
mod call;
mod diff;
mod error;
mod guard;
mod history;
mod lock;
mod name;
mod path;
mod snapshot;
mod worktree;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    time::Duration,
};

pub use blame::BlameLine;
pub use diff::{Change, ChangedFile, Diff};
pub use error::GitError;
pub use history::Revision;
pub use name::WorktreeKind;
pub use snapshot::{Author, Snapshot, SnapshotCommit};
pub use worktree::{Removal, Worktree, WorktreeInfo};

use call::{Git, GitCommand, GitLocation};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitLimits {
    /// For one git command, and for waiting until another program has left the worktree.
    pub time: Duration,
    /// For one command whose whole output is needed.
    pub output_bytes: usize,
    /// The text of a diff. A longer one is cut and marked.
    pub diff_bytes: usize,
    /// All files of one snapshot together.
    pub snapshot_bytes: u64,
    pub snapshot_files: usize,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(60),
            output_bytes: 16 << 20,
            diff_bytes: 1 << 20,
            snapshot_bytes: 64 << 20,
            snapshot_files: 20_000,
        }
    }
}

/// Finds git, if it is installed and new enough.
///
/// # Errors
/// If there is none; says what to do.
pub async fn find() -> Result<PathBuf, GitError> {
    Git::find(GitLimits::default()).await.map(|git| git.program)
}

/// A user's repository.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    /// The git folder that all worktrees share.
    common: PathBuf,
    /// The git folder of the opened working tree. Runs start from its `HEAD`.
    git_dir: PathBuf,
    /// The user's working tree; `None` for a bare repository.
    top: Option<PathBuf>,
    /// The folder of runs' worktrees.
    worktrees: PathBuf,
}

impl Repository {
    /// Opens the repository at or above `path`.
    ///
    /// Worktrees go to `folkmoot/worktrees` in the git folder, where `git status` does not show
    /// them. Tools that search parent folders for their configuration would find the user's there,
    /// so a server should use another folder ([`Repository::with_worktrees`]).
    pub async fn open(path: &Path) -> Result<Self, GitError> {
        Self::open_with(path, GitLimits::default()).await
    }

    pub async fn open_with(path: &Path, limits: GitLimits) -> Result<Self, GitError> {
        let git = Git::find(limits).await?;
        let nowhere = || GitError::NotARepository(path.display().to_string());
        let path = std::fs::canonicalize(path).map_err(|_| nowhere())?;
        let ask = async |question: &str| git.discover(&path, &["rev-parse", "--path-format=absolute", question]).await;
        let common = ask("--git-common-dir").await?.ok_or_else(nowhere)?;
        let git_dir = ask("--absolute-git-dir").await?.ok_or_else(nowhere)?;
        let top = ask("--show-toplevel").await?;
        for inside in ["folkmoot", "worktrees"] {
            if std::fs::symlink_metadata(common.join(inside)).is_ok_and(|found| !found.is_dir()) {
                let place = common.join(inside);
                return Err(GitError::Conflict(format!("{} is not a folder; remove it", place.display())));
            }
        }
        let worktrees = common.join("folkmoot").join("worktrees");
        Ok(Self { git, common, git_dir, top, worktrees })
    }

    /// Puts runs' worktrees into this folder, which is created when needed. It must not be in the
    /// user's working tree.
    pub fn with_worktrees(mut self, folder: &Path) -> Result<Self, GitError> {
        let folder = std::path::absolute(folder).map_err(|error| GitError::io("cannot use that folder", error))?;
        // Resolve the existing part: a link may lead into the working tree.
        let existing = folder.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
        let real = match existing {
            Some((above, real)) => real.join(folder.strip_prefix(above).unwrap_or(Path::new(""))),
            None => folder,
        };
        if real.components().any(|part| part == std::path::Component::ParentDir) {
            return Err(GitError::Invalid(format!("write {} without ..", real.display())));
        }
        let in_tree = self.top.as_ref().is_some_and(|top| real.starts_with(top)) && !real.starts_with(&self.common);
        if in_tree {
            return Err(GitError::Invalid(format!(
                "{} is inside the working tree, where worktrees would show up as changes; choose a folder outside",
                real.display()
            )));
        }
        self.worktrees = real;
        Ok(self)
    }

    /// Resolves a revision (an id, a branch, a tag) to a commit.
    pub async fn resolve(&self, revision: &str) -> Result<String, GitError> {
        self.find(&self.reading(), revision).await?.ok_or_else(|| {
            GitError::Invalid(format!("{:?} names no commit here", revision.chars().take(120).collect::<String>()))
        })
    }

    async fn find(&self, place: &GitLocation, revision: &str) -> Result<Option<String>, GitError> {
        if revision.is_empty() || revision.len() > 512 || revision.contains(|c: char| c.is_control()) {
            return Err(GitError::Invalid("a revision is an id, a branch or a tag, of at most 512 bytes".into()));
        }
        let commit = format!("{revision}^{{commit}}");
        let call = GitCommand::new(place, ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]);
        let answer = self.git.ask(call).await?;
        Ok((answer.code == Some(0)).then(|| answer.line()))
    }

    /// For commands that read only commits. It uses a working folder of git's own: attributes in a
    /// working tree would apply otherwise, and an agent could hide a change by declaring a file
    /// binary.
    fn reading(&self) -> GitLocation {
        GitLocation { git_dir: self.common.clone(), work_tree: self.common.join("objects"), no_index: true }
    }

    /// The user's own `HEAD`; nothing is written there.
    fn own(&self) -> GitLocation {
        GitLocation { git_dir: self.git_dir.clone(), work_tree: self.common.join("objects"), no_index: true }
    }
}

fn os(words: &[&str]) -> Vec<OsString> {
    words.iter().map(|word| OsStr::new(word).to_owned()).collect()
}
