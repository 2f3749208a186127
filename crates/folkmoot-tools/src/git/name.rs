//! What branches, references and folders of a run are called.

use super::{GitCommand, GitError, Repository};

folkmoot_core::vocabulary! {
    /// What kind of run a worktree belongs to; the first part of its branch.
    pub enum WorktreeKind {
        /// A debate's.
        Debate = "debate",
        /// A plan's.
        Plan = "plan",
        /// A task's.
        Task = "task",
    }
}

/// The longest id that can be a folder and a branch everywhere.
const ID_BYTES_MAX: usize = 128;

/// The names of one run, all of them checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub kind: WorktreeKind,
    pub run: String,
    /// `debate/<run>`
    pub branch: String,
    /// `refs/heads/debate/<run>`
    pub branch_ref: String,
    /// `refs/folkmoot/debate/<run>`: where the branch began. It also says that the branch is ours.
    pub base_ref: String,
    /// `debate-<run>`, for files.
    pub stem: String,
}

impl Names {
    pub(super) fn new(kind: WorktreeKind, run: &str) -> Result<Self, GitError> {
        let safe = (1..=ID_BYTES_MAX).contains(&run.len())
            && run.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            && run.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !safe {
            let shown: String = run.chars().take(80).collect();
            return Err(GitError::Invalid(format!(
                "{shown:?} cannot name a branch and a folder: use 1 to {ID_BYTES_MAX} of A-Z a-z 0-9 . _ -, with a letter or digit first"
            )));
        }
        Ok(Self {
            kind,
            run: run.to_owned(),
            branch: format!("{kind}/{run}"),
            branch_ref: format!("refs/heads/{kind}/{run}"),
            base_ref: format!("refs/folkmoot/{kind}/{run}"),
            stem: format!("{kind}-{run}"),
        })
    }
}

impl Repository {
    /// The names of a run, if git takes them too: it refuses `a..b`, `a.lock` and more.
    pub(super) async fn names(&self, kind: WorktreeKind, run: &str) -> Result<Names, GitError> {
        let names = Names::new(kind, run)?;
        let answer = self.git.ask(GitCommand::new(&self.reading(), ["check-ref-format", &names.branch_ref])).await?;
        if answer.code != Some(0) {
            return Err(GitError::Invalid(format!("git allows no branch of the name {:?}", names.branch)));
        }
        Ok(names)
    }
}
