//! Backups: copied by the store, and verified as `audit verify` does.
//!
//! A file gets its name when it is complete, verified and synced. Until then it is called `.half`;
//! one that does not verify is kept as `.unverified`. The server's key and the owner's tokens are
//! in no backup.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use folkmoot_core::{
    Action, Actor, BadId, Command, Head, Quota,
    audit::AuditProblem,
    token::{self, Token},
};
use folkmoot_store::{AnyStore, Error, Postgres, Sqlite, Store, SystemClock, backup};
use rustix::{
    fs::{CWD, OFlags, RenameFlags, renameat_with},
    io::Errno,
};
use serde::Serialize;

use crate::{DataFolder, StartError};

#[cfg(test)]
mod tests;

/// The contents of a backup or a restored database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// The position of its last event.
    pub position: u64,
    /// The hash of that event.
    pub head_hash: String,
    pub schema: i64,
    /// Rows per table.
    pub rows: BTreeMap<String, u64>,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    #[serde(flatten)]
    pub backup: Backup,
    /// The valid tokens, including those that were revoked after the backup was made.
    pub valid_tokens: Vec<Token>,
    /// The tokens that were revoked during the restore.
    pub revoked_tokens: Vec<Token>,
}

/// What to do with the tokens of a backup, some of which may have been revoked since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokensOnRestore {
    Keep,
    Revoke,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target exists.
    #[error("{} is there already, and nothing is overwritten; choose another name", .0.display())]
    Exists(PathBuf),
    /// Another process writes there.
    #[error("another process is writing {}; wait for it, or choose another name", .0.display())]
    Busy(PathBuf),
    #[error("{} has no database; name the folder with --data, or a PostgreSQL with --database", .0.display())]
    NoDatabase(PathBuf),
    /// The target contains data that would be lost.
    #[error("{} holds {what}, and nothing is overwritten; restore into another folder with --data", .path.display())]
    NotEmpty { path: PathBuf, what: String },
    /// It does not verify.
    #[error("{}", unsound(.file, .problems))]
    Unsound {
        /// Where it was kept.
        file: PathBuf,
        problems: Vec<AuditProblem>,
    },
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    /// The folder cannot be used, or has a server.
    #[error(transparent)]
    Folder(#[from] StartError),
    #[error(transparent)]
    Store(#[from] Error),
}

fn unsound(file: &Path, problems: &[AuditProblem]) -> String {
    let first: Vec<String> =
        problems.iter().take(3).map(|AuditProblem { at, problem }| format!("{at}: {problem}")).collect();
    let more = problems.len().saturating_sub(first.len());
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{} does not agree with itself: {}{more}", file.display(), first.join("; "))
}

/// Copies the folder's database, or the PostgreSQL at `database`, into a new file. A running server
/// keeps writing.
pub async fn back_up(data: &DataFolder, database: Option<&str>, file: &Path) -> Result<Backup, BackupError> {
    if file.exists() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let from = data.database();
    if database.is_none() && !from.exists() {
        return Err(BackupError::NoDatabase(data.path().to_owned()));
    }
    let half = PartialFile::begin(file)?;
    match database {
        Some(url) => backup::from_postgres(url, &half.path).await?,
        None => copy(from, &half.path).await?,
    }
    Ok(half.finish_verified(file).await?.0)
}

/// Creates the database of a folder from a backup. A database with an empty log may be replaced.
pub async fn restore(file: &Path, data: &DataFolder, tokens: TokensOnRestore) -> Result<RestoreReport, BackupError> {
    must_be_readable(file)?;
    let _lock = data.lock()?;
    must_have_no_log(data)?;
    let target = data.database();
    let half = PartialFile::begin(&target)?;
    copy(file.to_owned(), &half.path).await?;
    let mut revoked_tokens = Vec::new();
    if tokens == TokensOnRestore::Revoke {
        let path = half.path.clone();
        let store = AnyStore::Sqlite(blocking(move || Sqlite::open(&path, Arc::new(SystemClock))).await?);
        let revoked = revoke_all(&store).await;
        store.close().await;
        revoked_tokens = revoked?;
    }
    let (backup, valid_tokens) = half.finish_verified(&target).await?;
    Ok(RestoreReport { backup, valid_tokens, revoked_tokens })
}

async fn valid_tokens(store: &AnyStore) -> Result<Vec<Token>, Error> {
    let all = store.tokens().await?.into_iter().map(|(token, _)| token);
    Ok(all.filter(|token| token.revoked_at.is_none()).collect())
}

/// Revokes all tokens, and returns them.
async fn revoke_all(store: &AnyStore) -> Result<Vec<Token>, Error> {
    let valid = valid_tokens(store).await?;
    for token in &valid {
        let id = format!("restore-{}", token.id);
        let id = id.parse().map_err(|error: BadId| Error::Unreadable(error.to_string()))?;
        let action = Action::Token(token::Action::Revoke { token: token.id.clone() });
        let command = Command {
            id,
            by: Actor::System,
            token: None,
            claims: None,
            idempotency: None,
            action,
            quota: Quota::default(),
            subscriptions: Arc::default(),
        };
        store.execute(command).await?;
    }
    Ok(valid)
}

/// Fills an empty PostgreSQL from a backup.
pub async fn restore_to_postgres(
    file: &Path,
    url: &str,
    tokens: TokensOnRestore,
) -> Result<RestoreReport, BackupError> {
    must_be_readable(file)?;
    let (mut restored, mut valid_tokens) = verified(file).await?;
    backup::into_postgres(file, url).await?;
    // Opened as a server does, which migrates an older schema now.
    let store = AnyStore::Postgres(Postgres::open(url, None).await?);
    let report = folkmoot_engine::verify(&store).await;
    let head = store.head().await;
    let revoked = if tokens == TokensOnRestore::Revoke { revoke_all(&store).await } else { Ok(Vec::new()) };
    let after = store.head().await;
    store.close().await;
    let (mut problems, head) = (report?.problems, head?);
    let revoked_tokens = revoked?;
    valid_tokens.retain(|token| !revoked_tokens.contains(token));
    if (head.position, head.hash.hex()) != (restored.position, restored.head_hash.clone()) {
        problems.push(AuditProblem::new("head", "the database does not end where the backup does"));
    }
    if !problems.is_empty() {
        return Err(BackupError::Unsound { file: "the PostgreSQL that was filled".into(), problems });
    }
    let Head { position, hash } = after?;
    (restored.position, restored.head_hash) = (position, hash.hex());
    restored.schema = folkmoot_store::health::look_at_postgres(url).await?.schema;
    Ok(RestoreReport { backup: restored, valid_tokens, revoked_tokens })
}

fn must_be_readable(file: &Path) -> Result<(), BackupError> {
    let unreadable = |error| BackupError::File { path: file.to_owned(), error };
    let found = File::open(file).and_then(|opened| opened.metadata()).map_err(unreadable)?;
    if !found.is_file() {
        return Err(unreadable(io::Error::other("this is no file")));
    }
    // Check that this version knows the schema before a folder is created.
    backup::schema(file).map(drop).map_err(|error| match error {
        Error::Schema(_) => error.into(),
        error => unreadable(io::Error::other(format!("this is no backup: {error}"))),
    })
}

/// An empty database may be replaced; anything else stays.
fn must_have_no_log(data: &DataFolder) -> Result<(), BackupError> {
    let database = data.database();
    let full = |what: String| BackupError::NotEmpty { path: data.path().to_owned(), what };
    let companions = ["-wal", "-shm", "-journal"].map(|end| PathBuf::from(format!("{}{end}", database.display())));
    match fs::metadata(&database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // SQLite would apply them to the new database.
            match companions.iter().find(|path| path.exists()) {
                Some(stray) => Err(full(format!("{}, what is left of a database", stray.display()))),
                None => Ok(()),
            }
        }
        Err(error) => Err(BackupError::File { path: database, error }),
        Ok(found) => {
            let events = if found.len() == 0 { 0 } else { backup::events(&database)? };
            if events > 0 {
                return Err(full(format!("a database with {events} events")));
            }
            for path in companions.iter().chain([&database]).filter(|path| path.exists()) {
                fs::remove_file(path).map_err(|error| BackupError::File { path: path.clone(), error })?;
            }
            Ok(())
        }
    }
}

async fn copy(from: PathBuf, to: &Path) -> Result<(), BackupError> {
    let to = to.to_owned();
    Ok(blocking(move || backup::from_sqlite(&from, &to)).await?)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    let failed = |error| Error::Database(format!("it was not done: {error}"));
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// Verifies the file, the hash chain, and each row against the log. Also returns the valid tokens.
async fn verified(file: &Path) -> Result<(Backup, Vec<Token>), BackupError> {
    let looked_at = file.to_owned();
    let contents = blocking(move || backup::inspect(&looked_at)).await?;
    // A backup of an older version is verified after migration; the file itself is not changed.
    let migrated = if contents.is_older() { Some(migrated(file).await?) } else { None };
    let judged = migrated.as_ref().map_or_else(|| file.to_owned(), |folder| folder.path().join(MIGRATED));
    let store = AnyStore::Sqlite(Sqlite::open_to_read(&judged, Arc::new(SystemClock))?);
    let report = folkmoot_engine::verify(&store).await;
    let tokens = valid_tokens(&store).await;
    store.close().await;
    let (problems, tokens) = (report?.problems, tokens?);
    if !problems.is_empty() {
        return Err(BackupError::Unsound { file: file.to_owned(), problems });
    }
    let metadata = fs::metadata(file).map_err(|error| BackupError::File { path: file.to_owned(), error })?;
    let backup = Backup {
        position: contents.head.position,
        head_hash: contents.head.hash.hex(),
        schema: contents.schema,
        rows: contents.rows,
        bytes: metadata.len(),
    };
    Ok((backup, tokens))
}

const MIGRATED: &str = "migrated.db";

/// A migrated copy of the file, in a temporary folder.
async fn migrated(file: &Path) -> Result<tempfile::TempDir, BackupError> {
    let beside = file.parent().map_or_else(tempfile::tempdir, tempfile::tempdir_in).or_else(|_| tempfile::tempdir());
    let folder = beside.map_err(|error| BackupError::File { path: file.to_owned(), error })?;
    let copied = folder.path().join(MIGRATED);
    copy(file.to_owned(), &copied).await?;
    let store = blocking(move || Sqlite::open(&copied, Arc::new(SystemClock))).await?;
    store.close().await;
    Ok(folder)
}

/// A file without its final name. It is removed when dropped, or by the next attempt.
struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    fn begin(target: &Path) -> Result<Self, BackupError> {
        let path = PathBuf::from(format!("{}.half", target.display()));
        let unusable = |error| BackupError::File { path: path.clone(), error };
        // Remove the leftover of a killed attempt and do not reuse it: another process may have it
        // open, and a link may lead anywhere. Keep it locked until the new file exists, so that of
        // two concurrent attempts only one continues.
        let _left = match open_itself(&path) {
            Ok(left) if !locks(&left, &path).map_err(unusable)? => return Err(BackupError::Busy(target.to_owned())),
            Ok(left) => Some(left),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_link(&error) => None,
            Err(error) => return Err(unusable(error)),
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
            Ok(()) | Err(_) => {}
        }
        let file = match OpenOptions::new().create_new(true).write(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(BackupError::Busy(target.to_owned()));
            }
            file => file.map_err(unusable)?,
        };
        if !locks(&file, &path).map_err(unusable)? {
            return Err(BackupError::Busy(target.to_owned()));
        }
        let half = Self { path, file };
        half.remove_companions();
        Ok(half)
    }

    /// Gives it its final name, or keeps it as unverified.
    async fn finish_verified(self, target: &Path) -> Result<(Backup, Vec<Token>), BackupError> {
        let verified = match verified(&self.path).await {
            Err(BackupError::Unsound { problems, .. }) => {
                let kept = PathBuf::from(format!("{}.unverified", target.display()));
                self.rename(&kept, |from, to| fs::rename(from, to))?;
                return Err(BackupError::Unsound { file: kept, problems });
            }
            other => other?,
        };
        self.rename_to_new(target)?;
        Ok(verified)
    }

    /// Renames it to an unused name, even if something has appeared there meanwhile.
    fn rename_to_new(&self, to: &Path) -> Result<(), BackupError> {
        self.rename(to, without_replacing).map_err(|error| match error {
            BackupError::File { path, error } if error.kind() == io::ErrorKind::AlreadyExists => {
                BackupError::Exists(path)
            }
            error => error,
        })
    }

    /// Renames it durably.
    fn rename(&self, to: &Path, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<(), BackupError> {
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let renamed = self.file.sync_all().and_then(|()| rename(&self.path, to));
        renamed
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|error| BackupError::File { path: to.to_owned(), error })
    }

    fn remove_companions(&self) {
        for end in ["-journal", "-wal", "-shm"] {
            // Usually there is none.
            let _ = fs::remove_file(format!("{}{end}", self.path.display()));
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        self.remove_companions();
        // Already gone if it was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens the file itself; links are not followed.
fn open_itself(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Locks the file, unless another process has locked or replaced it.
fn locks(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
        Ok(()) => {}
    }
    let ours = file.metadata()?;
    let is_ours = |there: fs::Metadata| (there.dev(), there.ino()) == (ours.dev(), ours.ino());
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        there => there.map(is_ours),
    }
}

/// Renames, unless the new name exists.
fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_and_remove(from, to),
        renamed => Ok(renamed?),
    }
}

/// The same in two steps: a hard link is created only if the name is free.
fn link_and_remove(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) => fs::remove_file(from),
        // Some file systems have no hard links either. Then check and rename.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}
