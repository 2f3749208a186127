//! Creates, finds, lists and removes the worktree and branch of a run.
//!
//! ```text
//! (none) ─claim─▶ making ─git worktree add, check out─▶ ready ─remove─▶ making ─▶ (none)
//! ```
//!
//! The claim is a small file in the git folder, written before anything else. A folder that is
//! claimed but not ready was never handed out, or is being removed: it can be removed and created
//! again. An unclaimed folder is not ours.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use folkmoot_core::Timestamp;

use super::{
    Diff, GitCommand, GitError, GitLocation, Repository, WorktreeKind, lock::RepositoryLock, name::Names, snapshot,
};

/// The folder of a run, on its own branch.
#[derive(Clone, Debug)]
pub struct Worktree {
    pub(super) repository: Repository,
    pub(super) names: Names,
    folder: PathBuf,
    base: String,
    /// The git folder of this worktree.
    admin: PathBuf,
}

folkmoot_core::vocabulary! {
    /// What to remove.
    pub enum Removal {
        /// The folder. The branch and its commits stay.
        Folder = "folder",
        /// The folder and the branch.
        Everything = "everything",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeInfo {
    pub kind: WorktreeKind,
    pub run: String,
    pub branch: String,
    pub base: String,
    /// The branch's latest commit; `None` if somebody removed the branch.
    pub head: Option<String>,
    /// Its folder, if it exists.
    pub folder: Option<PathBuf>,
}

impl Repository {
    /// Returns the worktree of a run, on the branch `<kind>/<run>`. Creates it if necessary, from
    /// the commit `start` or the user's `HEAD`; in a repository without commits, from an empty
    /// commit. After a crash, a run gets its worktree back as it was.
    pub async fn worktree(&self, kind: WorktreeKind, run: &str, start: Option<&str>) -> Result<Worktree, GitError> {
        let names = self.names(kind, run).await?;
        let lock = self.lock(&names).await?;
        let base = self.branch(&names, start, &lock).await?;
        if let Some((folder, admin)) = self.ready(&names)? {
            return Ok(Worktree { repository: self.clone(), names, folder, base, admin });
        }
        // Git reads other unfinished worktrees while creating one, and would fail.
        let alone = self.alone().await?;
        self.clear_aside(&names, &alone).await?;

        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.worktrees)
            .map_err(|error| GitError::io(format!("cannot make {}", self.worktrees.display()), error))?;
        let root = fs::canonicalize(&self.worktrees)
            .map_err(|error| GitError::io(format!("cannot use {}", self.worktrees.display()), error))?;
        let folder = root.join(&names.stem);
        if fs::symlink_metadata(&folder).is_ok() {
            return Err(GitError::Conflict(format!(
                "{} is in the way, and is not from us; move it away",
                folder.display()
            )));
        }
        self.claim(&names, &folder, false)?;
        // Without checkout, which would use another place's configuration.
        let call = GitCommand::new(&self.reading(), ["worktree", "add", "--quiet", "--no-checkout"]);
        let answer = self.git.ask(call.with(&folder).with(&names.branch).stdin(alone.silent()?)).await?;
        drop(alone);
        if answer.code != Some(0) {
            let taken = ["already checked out", "already used by worktree"];
            if taken.iter().any(|words| answer.stderr.contains(words)) {
                return Err(GitError::Conflict(format!(
                    "the branch {} is checked out elsewhere; leave it there first: {}",
                    names.branch, answer.stderr
                )));
            }
            return Err(answer.failed());
        }
        let admin = self.admin(&folder)?.ok_or_else(|| GitError::Failed {
            command: "worktree".into(),
            stderr: "it said that it made a worktree, and there is none".into(),
        })?;
        let worktree = Worktree { repository: self.clone(), names, folder, base, admin };
        let call = GitCommand::new(&worktree.place(), ["read-tree", "--reset", "-u"]);
        self.git.run(call.with(&worktree.names.branch_ref).stdin(lock.silent()?)).await?;
        self.claim(&worktree.names, &worktree.folder, true)?;
        Ok(worktree)
    }

    /// Removes what exists of a run. It can be repeated or resumed. Other worktrees are left alone,
    /// even if their folders are missing: this is not `git worktree prune`.
    pub async fn remove(&self, kind: WorktreeKind, run: &str, removal: Removal) -> Result<(), GitError> {
        let names = self.names(kind, run).await?;
        if !self.state().is_dir() {
            return Ok(());
        }
        let lock = self.lock(&names).await?;
        self.break_ref_locks(&names)?;
        self.clear_aside(&names, &self.alone().await?).await?;
        match removal {
            Removal::Folder => {}
            Removal::Everything => {
                // Without a base reference the branch belongs to the user.
                if self.find(&self.reading(), &names.base_ref).await?.is_some() {
                    let both = format!("delete {}\ndelete {}\n", names.branch_ref, names.base_ref);
                    self.update_refs(&both, &lock).await?;
                }
            }
        }
        lock.remove()
    }

    /// All runs with a branch or worktree here, sorted.
    pub async fn list(&self) -> Result<Vec<WorktreeInfo>, GitError> {
        let place = self.reading();
        let format = "--format=%(refname)%00%(objectname)";
        let mut patterns = vec!["refs/folkmoot/".to_owned()];
        patterns.extend(WorktreeKind::WORDS.iter().map(|kind| format!("refs/heads/{kind}/")));
        let call =
            patterns.iter().fold(GitCommand::new(&place, ["for-each-ref", format]), |call, pattern| call.with(pattern));
        let answer = self.git.run(call).await?;
        let text = String::from_utf8_lossy(&answer.stdout);
        let refs: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('\0')).collect();
        let mut listed = Vec::new();
        for (name, base) in &refs {
            let Some((kind, run)) = name.strip_prefix("refs/folkmoot/").and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            let (Ok(kind), run) = (kind.parse::<WorktreeKind>(), run) else { continue };
            let Ok(names) = Names::new(kind, run) else { continue };
            let folder = self.claimed(&names)?.filter(|claim| claim.ready).map(|claim| claim.folder);
            listed.push(WorktreeInfo {
                kind,
                run: names.run,
                base: (*base).to_owned(),
                head: refs.get(names.branch_ref.as_str()).map(|head| (*head).to_owned()),
                branch: names.branch,
                folder: folder.filter(|folder| folder.is_dir()),
            });
        }
        Ok(listed)
    }

    /// Ensures that the branch exists, and returns where it began.
    async fn branch(&self, names: &Names, start: Option<&str>, lock: &RepositoryLock) -> Result<String, GitError> {
        self.break_ref_locks(names)?;
        let place = self.reading();
        let base = self.find(&place, &names.base_ref).await?;
        let head = self.find(&place, &names.branch_ref).await?;
        match (base, head) {
            (Some(base), Some(_)) => Ok(base),
            (Some(base), None) => {
                self.update_refs(&format!("create {} {base}\n", names.branch_ref), lock).await?;
                Ok(base)
            }
            (None, Some(_)) => Err(GitError::Conflict(format!(
                "there is a branch {} already, which is not from us; rename it, or choose another id",
                names.branch
            ))),
            (None, None) => {
                let base = match start {
                    Some(start) => self.resolve(start).await?,
                    None => match self.find(&self.own(), "HEAD").await? {
                        Some(head) => head,
                        None => self.empty_commit(lock).await?,
                    },
                };
                // Both or none: a branch with a base is ours.
                let both = format!("create {} {base}\ncreate {} {base}\n", names.branch_ref, names.base_ref);
                self.update_refs(&both, lock).await?;
                Ok(base)
            }
        }
    }

    /// The start of a run in a repository without commits. It always has the same id.
    async fn empty_commit(&self, lock: &RepositoryLock) -> Result<String, GitError> {
        let place = self.reading();
        let call = GitCommand::new(&place, ["hash-object", "-t", "tree", "-w", "--stdin"]);
        let tree = self.git.run(call.stdin(lock.silent()?)).await?.line();
        let call = GitCommand::new(&place, ["commit-tree", "-m", "Begin without files"]).with(&tree);
        let call = snapshot::signed(call, None, Timestamp::from_micros(0));
        Ok(self.git.run(call.stdin(lock.silent()?)).await?.line())
    }

    pub(super) async fn update_refs(&self, changes: &str, lock: &RepositoryLock) -> Result<(), GitError> {
        let place = self.reading();
        let call =
            GitCommand::new(&place, ["update-ref", "--no-deref", "--stdin"]).stdin(lock.saying(changes.as_bytes())?);
        let answer = self.git.ask(call).await?;
        match answer.code {
            Some(0) => Ok(()),
            _ if answer.stderr.contains("cannot lock ref") => Err(GitError::Conflict(format!(
                "the branch cannot be written; it may have changed meanwhile, or something else has its name: {}",
                answer.stderr
            ))),
            _ if answer.stderr.contains(".lock': File exists") => Err(GitError::Conflict(format!(
                "another git works in the repository, or one was killed; try again, and if none is running remove its lock: {}",
                answer.stderr
            ))),
            _ => Err(answer.failed()),
        }
    }

    /// Serialises creating and removing worktrees.
    async fn alone(&self) -> Result<RepositoryLock, GitError> {
        RepositoryLock::take(&self.state().join("worktrees.lock"), self.git.limits.time).await
    }

    pub(super) async fn lock(&self, names: &Names) -> Result<RepositoryLock, GitError> {
        let state = self.state();
        fs::create_dir_all(&state).map_err(|error| GitError::io(format!("cannot make {}", state.display()), error))?;
        RepositoryLock::take(&state.join(format!("{}.lock", names.stem)), self.git.limits.time).await
    }

    fn break_ref_locks(&self, names: &Names) -> Result<(), GitError> {
        self.break_locks([&names.branch_ref, &names.base_ref].map(|name| self.common.join(format!("{name}.lock"))))
    }

    /// Removes lock files that a killed git left behind. Our own lock ensures that no git of ours
    /// is alive.
    fn break_locks<const N: usize>(&self, files: [PathBuf; N]) -> Result<(), GitError> {
        for file in files {
            match fs::remove_file(&file) {
                Ok(()) => {
                    tracing::warn!(file = %file.display(), "removed the lock of a git command that was interrupted")
                }
                // A parent is not a folder, so nothing of ours is there.
                Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {}
                Err(error) => return Err(GitError::io(format!("cannot remove {}", file.display()), error)),
            }
        }
        Ok(())
    }

    /// As `clear`, on a blocking thread. It keeps the lock, because it continues even if the future
    /// is dropped.
    async fn clear_aside(&self, names: &Names, lock: &RepositoryLock) -> Result<(), GitError> {
        let (repository, names, held) = (self.clone(), names.clone(), lock.clone());
        let cleared = tokio::task::spawn_blocking(move || {
            let _held = held;
            repository.clear(&names)
        });
        cleared.await.map_err(|error| GitError::io("clearing was interrupted", io::Error::other(error)))?
    }

    /// Removes the folder of a run, and git's data about it.
    fn clear(&self, names: &Names) -> Result<(), GitError> {
        let Some(claim) = self.claimed(names)? else { return Ok(()) };
        // From here on it is not ready, even if this is interrupted.
        self.claim(names, &claim.folder, false)?;
        remove_folder(&claim.folder)?;
        if let Some(admin) = self.admin(&claim.folder)? {
            remove_folder(&admin)?;
            // As git does after the last one; fails while there are others.
            let _ = fs::remove_dir(self.common.join("worktrees"));
        }
        let file = self.claim_file(names);
        fs::remove_file(&file).map_err(|error| GitError::io(format!("cannot remove {}", file.display()), error))
    }

    /// The folder of a run and its git folder, if both are intact.
    fn ready(&self, names: &Names) -> Result<Option<(PathBuf, PathBuf)>, GitError> {
        let Some(claim) = self.claimed(names)?.filter(|claim| claim.ready && claim.folder.is_dir()) else {
            return Ok(None);
        };
        let Some(admin) = self.admin(&claim.folder)? else { return Ok(None) };
        self.break_locks(["index.lock", "HEAD.lock"].map(|file| admin.join(file)))?;
        Ok(Some((claim.folder, admin)))
    }

    /// Git's own folder for that worktree.
    fn admin(&self, folder: &Path) -> Result<Option<PathBuf>, GitError> {
        let wanted = folder.join(".git");
        let all = self.common.join("worktrees");
        let entries = match fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(GitError::io(format!("cannot read {}", all.display()), error)),
        };
        for entry in entries.flatten() {
            let Ok(file) = fs::read(entry.path().join("gitdir")) else { continue };
            let path = Path::new(OsStr::from_bytes(file.trim_ascii_end()));
            if path == wanted {
                return Ok(Some(entry.path()));
            }
        }
        Ok(None)
    }

    fn state(&self) -> PathBuf {
        self.common.join("folkmoot")
    }

    fn claim_file(&self, names: &Names) -> PathBuf {
        self.state().join(format!("{}.claim", names.stem))
    }

    fn claimed(&self, names: &Names) -> Result<Option<Claim>, GitError> {
        let file = self.claim_file(names);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(GitError::io(format!("cannot read {}", file.display()), error)),
        };
        let claim = Claim::read(&text);
        // The claim says which folder may be deleted, so a claim that differs from what we write is
        // ignored.
        let claim = claim.filter(|claim| claim.folder.is_absolute() && claim.folder.ends_with(&names.stem));
        claim
            .map(Some)
            .ok_or_else(|| GitError::Conflict(format!("{} is not as we write it; remove it", file.display())))
    }

    fn claim(&self, names: &Names, folder: &Path, ready: bool) -> Result<(), GitError> {
        let file = self.claim_file(names);
        let new = file.with_extension("claim.new");
        let word: &[u8] = if ready { b"ready\n" } else { b"making\n" };
        let text = [word, folder.as_os_str().as_bytes(), b"\n"].concat();
        let write = || -> io::Result<()> {
            fs::write(&new, text)?;
            fs::File::open(&new)?.sync_all()?;
            fs::rename(&new, &file)
        };
        write().map_err(|error| GitError::io(format!("cannot write {}", file.display()), error))
    }
}

#[derive(Debug)]
struct Claim {
    folder: PathBuf,
    ready: bool,
}

impl Claim {
    fn read(text: &[u8]) -> Option<Self> {
        let text = text.strip_suffix(b"\n")?;
        let (ready, folder) = match text.strip_prefix(b"ready\n") {
            Some(folder) => (true, folder),
            None => (false, text.strip_prefix(b"making\n")?),
        };
        Some(Self { folder: OsStr::from_bytes(folder).into(), ready })
    }
}

impl Worktree {
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn branch(&self) -> &str {
        &self.names.branch
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub async fn head(&self) -> Result<String, GitError> {
        self.repository.resolve(&self.names.branch_ref).await
    }

    /// The committed changes since the branch began.
    pub async fn diff(&self) -> Result<Diff, GitError> {
        self.repository.diff(&self.base, &self.names.branch_ref).await
    }

    pub(super) fn place(&self) -> GitLocation {
        GitLocation { git_dir: self.admin.clone(), work_tree: self.folder.clone(), no_index: false }
    }

    /// Takes the lock, and repairs what an interrupted command left.
    pub(super) async fn enter(&self) -> Result<RepositoryLock, GitError> {
        let lock = self.repository.lock(&self.names).await?;
        if self.repository.ready(&self.names)?.is_none_or(|(folder, _)| folder != self.folder) {
            return Err(GitError::Conflict(format!("the worktree of {} has been removed", self.names.branch)));
        }
        self.repository.break_ref_locks(&self.names)?;
        Ok(lock)
    }
}

/// Removes a folder with its content, even if it contains read-only folders.
fn remove_folder(folder: &Path) -> Result<(), GitError> {
    let mut removed = fs::remove_dir_all(folder);
    if removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
        make_writable(folder);
        removed = fs::remove_dir_all(folder);
    }
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(GitError::io(format!("cannot remove {}", folder.display()), error))
        }
        _ => Ok(()),
    }
}

fn make_writable(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        // Do not follow links.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_writable(&entry.path());
        }
    }
}
