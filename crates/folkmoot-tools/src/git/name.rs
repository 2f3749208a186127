//! Names of a run's branches, references and folders.

use super::{GitCommand, GitError, Repository};

folkmoot_core::vocabulary! {
    /// The kind of run; the first part of its branch.
    pub enum WorktreeKind {
        Debate = "debate",
        Plan = "plan",
        Task = "task",
    }
}

/// The longest id that works as a folder and a branch everywhere.
const ID_BYTES_MAX: usize = 128;

/// The validated names of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub kind: WorktreeKind,
    pub run: String,
    /// `debate/<run>`
    pub branch: String,
    /// `refs/heads/debate/<run>`
    pub branch_ref: String,
    /// `refs/folkmoot/debate/<run>`: where the branch began. It marks the branch as ours.
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
    /// Derives the names of a run and checks them with git, which refuses `a..b`, `a.lock` and
    /// more.
    pub(super) async fn names(&self, kind: WorktreeKind, run: &str) -> Result<Names, GitError> {
        let names = Names::new(kind, run)?;
        let answer = self.git.ask(GitCommand::new(&self.reading(), ["check-ref-format", &names.branch_ref])).await?;
        if answer.code != Some(0) {
            return Err(GitError::Invalid(format!("git allows no branch of the name {:?}", names.branch)));
        }
        Ok(names)
    }
}
