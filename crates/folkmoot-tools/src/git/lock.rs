//! A lock on a worktree, across all programs.
//!
//! Every writing git command gets the locked file as its standard input. So the lock is held until
//! git has ended, even if we are killed first, and the holder of the lock knows that a leftover
//! `index.lock` is stale.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::GitError;

const PAUSE: Duration = Duration::from_millis(10);

/// Held while it, or a command that got it, lives.
#[derive(Clone, Debug)]
pub(super) struct RepositoryLock {
    file: Arc<File>,
    path: PathBuf,
}

impl RepositoryLock {
    pub(super) async fn take(path: &Path, limit: Duration) -> Result<Self, GitError> {
        let failed = |error| GitError::io(format!("cannot lock {}", path.display()), error);
        let begun = Instant::now();
        loop {
            let file =
                File::options().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
            match file.try_lock() {
                Ok(()) if is_still_there(&file, path) => {
                    return Ok(Self { file: Arc::new(file), path: path.to_owned() });
                }
                // The previous holder removed the file, so this lock is void.
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) if begun.elapsed() < limit => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(GitError::TimedOut {
                        command: "(waiting for another program in the worktree)".into(),
                        limit,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// For a command without input.
    pub(super) fn silent(&self) -> Result<File, GitError> {
        self.saying(b"")
    }

    /// For a command with this input.
    pub(super) fn saying(&self, text: &[u8]) -> Result<File, GitError> {
        let say = || -> io::Result<File> {
            let mut file = self.file.as_ref();
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text)?;
            file.rewind()?;
            file.try_clone()
        };
        say().map_err(|error| GitError::io(format!("cannot write {}", self.path.display()), error))
    }

    /// Releases the lock and removes the file.
    pub(super) fn remove(self) -> Result<(), GitError> {
        fs::remove_file(&self.path)
            .map_err(|error| GitError::io(format!("cannot remove {}", self.path.display()), error))
    }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}
