//! Commits on a run's branch. Uses only git's plumbing: no hooks, editor or signatures.

use std::fs;

use folkmoot_core::Timestamp;

use super::{GitCommand, GitError, Worktree, lock::RepositoryLock};
use crate::beneath::Folder;

/// The longest message of a commit.
const MESSAGE_BYTES_MAX: usize = 64 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Paths from the top of the worktree, with their contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files to delete. Missing ones are fine.
    pub deletions: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// An agent or a role.
    pub name: String,
    pub at: Timestamp,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotCommit {
    pub commit: String,
    /// Whether it is a new commit. If nothing changed, it is the previous one.
    pub changed: bool,
}

impl Worktree {
    /// Writes and deletes files, and commits that. Other changes in the folder stay uncommitted.
    ///
    /// Refuses a path that leaves the folder, passes a link or names git's own files; then nothing
    /// is written.
    pub async fn commit(&self, snapshot: Snapshot, author: &Author) -> Result<SnapshotCommit, GitError> {
        check_message(&author.message)?;
        let limits = &self.repository.git.limits;
        let paths: Vec<String> =
            snapshot.deletions.iter().chain(snapshot.files.iter().map(|(path, _)| path)).cloned().collect();
        for path in &paths {
            super::path::check(path).map_err(GitError::Invalid)?;
        }
        let bytes: u64 = snapshot.files.iter().map(|(_, content)| content.len() as u64).sum();
        if paths.len() > limits.snapshot_files || bytes > limits.snapshot_bytes {
            return Err(self.too_large(paths.len(), bytes));
        }
        let lock = self.enter().await?;
        let (folder, held) = (self.folder().to_owned(), lock.clone());
        // The work keeps the lock, because it continues even if the future is dropped.
        let written = tokio::task::spawn_blocking(move || {
            let _held = held;
            write(&folder, &snapshot)
        });
        written.await.map_err(|error| GitError::io("writing was interrupted", std::io::Error::other(error)))??;
        self.stage(&paths, &lock).await?;
        self.record(author, &lock).await
    }

    /// Commits all changes in the folder, except ignored files and nested repositories.
    pub async fn commit_all(&self, author: &Author) -> Result<SnapshotCommit, GitError> {
        check_message(&author.message)?;
        let lock = self.enter().await?;
        // Not `git add`, which would execute git inside nested repositories that an agent may have
        // created.
        let place = self.place();
        let call = GitCommand::new(
            &place,
            ["ls-files", "-z", "--others", "--modified", "--deleted", "--deduplicate", "--exclude-standard"],
        );
        let answer = self.repository.git.run(call).await?;
        let mut paths = Vec::new();
        let mut bytes = 0;
        for path in answer.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/")) {
            let there = self.folder().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
            let found = fs::symlink_metadata(there);
            // Only files and links belong in a commit; a folder here is a submodule's.
            match found {
                Ok(found) if found.is_file() => bytes += found.len(),
                Ok(found) if !found.is_symlink() => continue,
                _ => {}
            }
            paths.push(path);
        }
        let limits = &self.repository.git.limits;
        if paths.len() > limits.snapshot_files || bytes > limits.snapshot_bytes {
            return Err(self.too_large(paths.len(), bytes));
        }
        self.stage(&paths, &lock).await?;
        self.record(author, &lock).await
    }

    fn too_large(&self, files: usize, bytes: u64) -> GitError {
        let limits = &self.repository.git.limits;
        GitError::TooLarge(format!(
            "{files} files of {bytes} bytes are more than a snapshot can have, {} files of {} bytes; is there something that git should be told to ignore?",
            limits.snapshot_files, limits.snapshot_bytes
        ))
    }

    async fn stage(&self, paths: &[impl AsRef<[u8]>], lock: &RepositoryLock) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let mut list = Vec::new();
        for path in paths {
            list.extend_from_slice(path.as_ref());
            list.push(0);
        }
        let place = self.place();
        let call = GitCommand::new(&place, ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"]);
        self.repository.git.run(call.stdin(lock.saying(&list)?)).await?;
        Ok(())
    }

    async fn record(&self, author: &Author, lock: &RepositoryLock) -> Result<SnapshotCommit, GitError> {
        let git = &self.repository.git;
        let place = self.place();
        let tree = git.run(GitCommand::new(&place, ["write-tree"]).stdin(lock.silent()?)).await?.line();
        let head = self.head().await?;
        let before = format!("{head}^{{tree}}");
        let before =
            git.run(GitCommand::new(&place, ["rev-parse", "--verify", "--end-of-options", &before])).await?.line();
        if tree == before {
            return Ok(SnapshotCommit { commit: head, changed: false });
        }
        let call = GitCommand::new(&place, ["commit-tree", "-p", &head, "-m", &author.message, &tree]);
        let call = signed(call, Some(&author.name), author.at);
        let commit = git.run(call.stdin(lock.silent()?)).await?.line();
        // Only if nobody else has moved the branch.
        let change = format!("update {} {commit} {head}\n", self.names.branch_ref);
        self.repository.update_refs(&change, lock).await?;
        Ok(SnapshotCommit { commit, changed: true })
    }
}

/// Sets the author and the time of a commit, so that the same commit has the same id.
pub(super) fn signed(call: GitCommand, name: Option<&str>, at: Timestamp) -> GitCommand {
    let name: String =
        name.unwrap_or_default().chars().filter(|c| !c.is_control() && !"<>".contains(*c)).take(128).collect();
    // Git refuses a name without letters and digits.
    let name = if name.contains(char::is_alphanumeric) { name } else { "folkmoot".to_owned() };
    let date = format!("@{} +0000", (at.as_micros() / 1_000_000).max(0));
    call.environment("GIT_AUTHOR_NAME", name.clone())
        .environment("GIT_COMMITTER_NAME", name)
        .environment("GIT_AUTHOR_EMAIL", "folkmoot@localhost")
        .environment("GIT_COMMITTER_EMAIL", "folkmoot@localhost")
        .environment("GIT_AUTHOR_DATE", date.clone())
        .environment("GIT_COMMITTER_DATE", date)
}

fn check_message(message: &str) -> Result<(), GitError> {
    if message.trim().is_empty() || message.len() > MESSAGE_BYTES_MAX || message.contains('\0') {
        return Err(GitError::Invalid(format!("a commit needs a message, of at most {MESSAGE_BYTES_MAX} bytes")));
    }
    Ok(())
}

fn write(folder: &std::path::Path, snapshot: &Snapshot) -> Result<(), GitError> {
    let failed = |path: &str, error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotADirectory | std::io::ErrorKind::IsADirectory => {
            GitError::Conflict(format!("cannot write {path:?}: {error}"))
        }
        _ => GitError::io(format!("cannot write {path:?}"), error),
    };
    let folder = Folder::open(folder).map_err(|error| GitError::io("cannot open the worktree", error))?;
    for path in &snapshot.deletions {
        folder.remove(path).map_err(|error| failed(path, error))?;
    }
    for (path, content) in &snapshot.files {
        folder.write(path, content).map_err(|error| failed(path, error))?;
    }
    Ok(())
}
