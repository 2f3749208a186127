//! Backups: copied by the store, and checked as `audit verify` checks before anybody is told that
//! they are done.
//!
//! A file gets its name when it is whole, verified and synced; until then it is called `.half`, and
//! one that does not agree with itself is kept as `.unverified`. The server's key and the owner's
//! tokens are in no backup.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use folkmoot_core::{Action, Actor, BadId, Command, Head, Quota, audit::AuditProblem, token::Token};
use folkmoot_store::{AnyStore, Error, Postgres, Sqlite, Store, SystemClock, backup};
use rustix::{
    fs::{CWD, OFlags, RenameFlags, renameat_with},
    io::Errno,
};
use serde::Serialize;

use crate::{DataFolder, StartError};

#[cfg(test)]
mod tests;

/// What a backup holds, or what was made of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Backup {
    /// The position of its last event.
    pub position: u64,
    /// That event's hash: what `audit verify` calls the head.
    pub head_hash: String,
    /// The version of its schema.
    pub schema: i64,
    /// How many rows each table has.
    pub rows: BTreeMap<String, u64>,
    /// How large the file is.
    pub bytes: u64,
}

/// What was made of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RestoreReport {
    /// What it holds now.
    #[serde(flatten)]
    pub backup: Backup,
    /// The tokens that work in it. Those that were revoked after the backup was made are among
    /// them.
    pub valid_tokens: Vec<Token>,
    /// The tokens of the backup that were revoked here.
    pub revoked_tokens: Vec<Token>,
}

/// What happens to the tokens of a backup, some of which may have been revoked since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokensOnRestore {
    /// They work as they did.
    Keep,
    /// None of them works.
    Revoke,
}

/// Why there is no backup, or nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// A file is in the way.
    #[error("{} is there already, and nothing is overwritten; choose another name", .0.display())]
    Exists(PathBuf),
    /// Somebody else writes there.
    #[error("another process is writing {}; wait for it, or choose another name", .0.display())]
    Busy(PathBuf),
    /// There is nothing to back up.
    #[error("{} has no database; name the folder with --data, or a PostgreSQL with --database", .0.display())]
    NoDatabase(PathBuf),
    /// There is something that would be lost.
    #[error("{} holds {what}, and nothing is overwritten; restore into another folder with --data", .path.display())]
    NotEmpty {
        /// Which folder.
        path: PathBuf,
        /// What is there.
        what: String,
    },
    /// It does not agree with itself.
    #[error("{}", unsound(.file, .problems))]
    Unsound {
        /// Where it can be looked at.
        file: PathBuf,
        /// What `audit verify` would say.
        problems: Vec<AuditProblem>,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    /// The folder cannot be used, or has a server.
    #[error(transparent)]
    Folder(#[from] StartError),
    /// A database failed, or is of another version.
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

/// Copies the folder's database, or the PostgreSQL at `database`, into a new file. A server may
/// run, and goes on writing.
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

/// Makes the database of a folder from a backup. The folder may not have one, unless its log is
/// empty.
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

/// The tokens that were not revoked.
async fn valid_tokens(store: &AnyStore) -> Result<Vec<Token>, Error> {
    let all = store.tokens().await?.into_iter().map(|(token, _)| token);
    Ok(all.filter(|token| token.revoked_at.is_none()).collect())
}

/// Revokes every token, and returns them.
async fn revoke_all(store: &AnyStore) -> Result<Vec<Token>, Error> {
    let valid = valid_tokens(store).await?;
    for token in &valid {
        let id = format!("restore-{}", token.id);
        let id = id.parse().map_err(|error: BadId| Error::Unreadable(error.to_string()))?;
        let action = Action::Revoke { token: token.id.clone() };
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
    // Opened as a server opens it: an older schema is migrated here and now.
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
    // Before a folder is made for it: whether this version knows its schema.
    backup::schema(file).map(drop).map_err(|error| match error {
        Error::Schema(_) => error.into(),
        error => unreadable(io::Error::other(format!("this is no backup: {error}"))),
    })
}

/// An empty database makes room; anything else stays.
fn must_have_no_log(data: &DataFolder) -> Result<(), BackupError> {
    let database = data.database();
    let full = |what: String| BackupError::NotEmpty { path: data.path().to_owned(), what };
    let companions = ["-wal", "-shm", "-journal"].map(|end| PathBuf::from(format!("{}{end}", database.display())));
    match fs::metadata(&database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // SQLite would add what it finds there to the database that we put beside it.
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

/// That SQLite finds the file whole, that its log is one chain, and that each row is what the log
/// says. Also returns the tokens that work in it.
async fn verified(file: &Path) -> Result<(Backup, Vec<Token>), BackupError> {
    let looked_at = file.to_owned();
    let contents = blocking(move || backup::inspect(&looked_at)).await?;
    // What an older version wrote is judged by what it becomes; the file itself stays as it is.
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

/// A copy of the file, with this version's schema, in a folder that goes when it is dropped.
async fn migrated(file: &Path) -> Result<tempfile::TempDir, BackupError> {
    let beside = file.parent().map_or_else(tempfile::tempdir, tempfile::tempdir_in).or_else(|_| tempfile::tempdir());
    let folder = beside.map_err(|error| BackupError::File { path: file.to_owned(), error })?;
    let copied = folder.path().join(MIGRATED);
    copy(file.to_owned(), &copied).await?;
    let store = blocking(move || Sqlite::open(&copied, Arc::new(SystemClock))).await?;
    store.close().await;
    Ok(folder)
}

/// A file that does not have its name yet. Removed when dropped, and by the next attempt if it was
/// left behind.
struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    fn begin(target: &Path) -> Result<Self, BackupError> {
        let path = PathBuf::from(format!("{}.half", target.display()));
        let unusable = |error| BackupError::File { path: path.clone(), error };
        // What an attempt that was killed left here goes, and is not used again: somebody may have
        // it open, and a link may lead anywhere. It stays locked until there is a new one, so that
        // of two who find it one goes on.
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

    /// Gives it its name, or keeps it as what it is.
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

    /// Under a name that nothing has yet, also if something has come there since it was begun.
    fn rename_to_new(&self, to: &Path) -> Result<(), BackupError> {
        self.rename(to, without_replacing).map_err(|error| match error {
            BackupError::File { path, error } if error.kind() == io::ErrorKind::AlreadyExists => {
                BackupError::Exists(path)
            }
            error => error,
        })
    }

    /// Durable when it returns, under this name.
    fn rename(&self, to: &Path, rename: impl Fn(&Path, &Path) -> io::Result<()>) -> Result<(), BackupError> {
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let renamed = self.file.sync_all().and_then(|()| rename(&self.path, to));
        renamed
            .and_then(|()| File::open(folder)?.sync_all())
            .map_err(|error| BackupError::File { path: to.to_owned(), error })
    }

    fn remove_companions(&self) {
        for end in ["-journal", "-wal", "-shm"] {
            // Mostly there is none.
            let _ = fs::remove_file(format!("{}{end}", self.path.display()));
        }
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        self.remove_companions();
        // It is gone already if it has its name.
        let _ = fs::remove_file(&self.path);
    }
}

/// What is there, and not what it leads to.
fn open_itself(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

/// Locks the file, unless somebody else has, or has put another in its place.
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

/// Renames, unless the new name is taken.
fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => link_and_remove(from, to),
        renamed => Ok(renamed?),
    }
}

/// The same in two steps: a second name is given only where there is none.
fn link_and_remove(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) => fs::remove_file(from),
        // There are file systems without second names, too. Then it is looked, and done.
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}
