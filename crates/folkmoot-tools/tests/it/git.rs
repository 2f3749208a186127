//! A worktree and branch for each run.

mod crash;
mod hostile;
mod names;
mod repositories;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use folkmoot_core::Timestamp;
use folkmoot_tools::git::{
    Author, BlameLine, Change, ChangedFile, GitError, GitLimits, Removal, Repository, Revision, Snapshot,
    SnapshotCommit, WorktreeInfo, WorktreeKind,
};
use tempfile::TempDir;

/// A repository of a user's, and the user's own git.
struct User {
    folder: TempDir,
}

impl User {
    /// With one commit: `a.txt` of two lines, and `src/lib.rs`.
    fn with_a_commit() -> Self {
        let user = Self::without_commits();
        user.write("a.txt", "one\ntwo\n");
        user.write("src/lib.rs", "pub fn one() {}\n");
        user.git(&["add", "."]);
        user.git(&["commit", "-q", "-m", "First"]);
        user
    }

    fn without_commits() -> Self {
        let user = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(user.top()).unwrap();
        user.git(&["init", "-q", "-b", "main"]);
        user
    }

    /// With a space in its name.
    fn top(&self) -> PathBuf {
        self.folder.path().join("the project")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.top().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The user's git, which obeys the repository's configuration.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("git");
        for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(variable);
        }
        command.current_dir(folder).env("HOME", self.folder.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "User").env(format!("GIT_{role}_EMAIL"), "user@localhost");
            command.env(format!("GIT_{role}_DATE"), "@1000 +0000");
        }
        command
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(&self.top(), arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn try_git(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command(folder).args(arguments).output().unwrap()
    }

    async fn repository(&self) -> Repository {
        Repository::open(&self.top()).await.unwrap()
    }

    /// All that is the user's: files, index, branch, configuration, and what `git status` says
    /// about them.
    fn own(&self) -> Vec<String> {
        let status = self.git(&["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"]);
        let index = self.git(&["ls-files", "--stage"]);
        let config = fs::read_to_string(self.top().join(".git/config")).unwrap();
        let stash = self.git(&["stash", "list"]);
        vec![status, index, config, stash, self.git(&["rev-parse", "HEAD"]), self.git(&["symbolic-ref", "-q", "HEAD"])]
    }
}

fn author(message: &str) -> Author {
    Author { name: "Architect".into(), at: Timestamp::from_micros(2_000_000_000), message: message.into() }
}

fn files<const N: usize>(files: [(&str, &str); N]) -> Snapshot {
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into();
    Snapshot { files, deletions: Vec::new() }
}

#[tokio::test]
async fn a_run_has_a_branch_and_commits_to_it() {
    let user = User::with_a_commit();
    let first = user.git(&["rev-parse", "HEAD"]);
    let worktree = user.repository().await.worktree(WorktreeKind::Debate, "session-1", None).await.unwrap();
    assert_eq!((worktree.branch(), worktree.base()), ("debate/session-1", first.as_str()));
    assert_eq!(fs::read_to_string(worktree.folder().join("a.txt")).unwrap(), "one\ntwo\n");

    let mut snapshot = files([("a.txt", "one\n2\nthree\n"), ("docs/new file.md", "# New\n")]);
    snapshot.deletions = vec!["src/lib.rs".into(), "never/there".into()];
    let committed = worktree.commit(snapshot, &author("Change things\n\nBecause.")).await.unwrap();
    assert!(committed.changed);
    assert_eq!(user.git(&["rev-parse", "debate/session-1"]), committed.commit);
    assert_eq!(
        user.git(&["log", "-1", "--format=%an|%ae|%at|%B", "debate/session-1"]),
        "Architect|folkmoot@localhost|2000|Change things\n\nBecause."
    );
    // The user's git, in that folder, finds all in order.
    assert_eq!(user.try_git(worktree.folder(), &["status", "--porcelain"]).stdout, b"");

    let diff = worktree.diff().await.unwrap();
    assert_eq!((diff.from.as_str(), diff.to.as_str(), diff.cut), (first.as_str(), committed.commit.as_str(), false));
    let file = |path: &str, change, lines| ChangedFile { path: path.into(), was: None, change, lines: Some(lines) };
    assert_eq!(
        diff.files,
        [
            file("a.txt", Change::Modified, (2, 1)),
            file("docs/new file.md", Change::Added, (1, 0)),
            file("src/lib.rs", Change::Deleted, (0, 1)),
        ]
    );
    assert!(diff.text.contains("@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n"), "{}", diff.text);
}

#[tokio::test]
async fn a_snapshot_that_changes_nothing_says_so() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "TASK-001", None).await.unwrap();
    let first = worktree.commit(files([("a.txt", "new\n")]), &author("One")).await.unwrap();
    let again = worktree.commit(files([("a.txt", "new\n")]), &author("Two")).await.unwrap();
    assert_eq!(again, SnapshotCommit { commit: first.commit.clone(), changed: false });
    let nothing = worktree.commit(Snapshot::default(), &author("Three")).await.unwrap();
    assert_eq!(nothing, SnapshotCommit { commit: first.commit, changed: false });
}

#[tokio::test]
async fn the_same_work_gives_the_same_commit() {
    let mut commits = Vec::new();
    for _ in 0..2 {
        let user = User::with_a_commit();
        let worktree = user.repository().await.worktree(WorktreeKind::Debate, "same", None).await.unwrap();
        commits.push(worktree.commit(files([("b", "b")]), &author("Same")).await.unwrap().commit);
    }
    assert_eq!(commits[0], commits[1]);
}

#[tokio::test]
async fn all_that_an_agent_did_in_the_folder_can_be_committed() {
    let user = User::with_a_commit();
    user.write(".gitignore", "target/\n");
    user.write("run.sh", "#!/bin/sh\n");
    user.git(&["add", "."]);
    user.git(&["update-index", "--chmod=+x", "run.sh"]);
    user.git(&["commit", "-q", "-m", "Second"]);
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    let folder = worktree.folder();
    fs::write(folder.join("a.txt"), "changed\n").unwrap();
    fs::remove_file(folder.join("src/lib.rs")).unwrap();
    fs::create_dir(folder.join("target")).unwrap();
    fs::write(folder.join("target/big"), "built").unwrap();
    fs::write(folder.join("-n ü"), "odd name").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());

    let committed = worktree.commit_all(&author("All of it")).await.unwrap();
    let diff = worktree.diff().await.unwrap();
    let changes: Vec<_> = diff.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    use Change::{Added, Deleted, Modified};
    assert_eq!(changes, [("-n ü", Added), ("a.txt", Modified), ("link", Added), ("src/lib.rs", Deleted)]);
    // A link is committed as a link, and not as what it leads to.
    assert_eq!(user.git(&["cat-file", "-p", "task/t:link"]), "/etc/passwd");
    assert_eq!(
        worktree.commit_all(&author("Again")).await.unwrap(),
        SnapshotCommit { commit: committed.commit, changed: false }
    );

    // A file that is written again stays executable.
    worktree.commit(files([("run.sh", "#!/bin/sh\ntrue\n")]), &author("Script")).await.unwrap();
    assert!(user.git(&["ls-tree", "task/t", "run.sh"]).starts_with("100755 "));
}

#[tokio::test]
async fn the_history_of_a_file_follows_its_names_and_blame_knows_each_line() {
    let user = User::with_a_commit();
    let first = user.git(&["rev-parse", "HEAD"]);
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Debate, "h", None).await.unwrap();
    let mut renaming = files([("b.txt", "one\ntwo\n")]);
    renaming.deletions = vec!["a.txt".into()];
    let second = worktree.commit(renaming, &author("Rename it")).await.unwrap().commit;
    let third =
        worktree.commit(files([("b.txt", "one\nzwei\n\ttabbed\n")]), &author("Add to it")).await.unwrap().commit;

    let revision = |commit: &str, author: &str, seconds: i64, subject: &str| Revision {
        commit: commit.into(),
        author: author.into(),
        at: Timestamp::from_micros(seconds * 1_000_000),
        subject: subject.into(),
    };
    assert_eq!(
        repository.history("debate/h", "b.txt", 10).await.unwrap(),
        [
            revision(&third, "Architect", 2000, "Add to it"),
            revision(&second, "Architect", 2000, "Rename it"),
            revision(&first, "User", 1000, "First"),
        ]
    );
    assert_eq!(repository.history("debate/h", "b.txt", 1).await.unwrap().len(), 1);
    assert_eq!(repository.history("debate/h", "nowhere", 10).await.unwrap(), []);
    let renamed =
        ChangedFile { path: "b.txt".into(), was: Some("a.txt".into()), change: Change::Renamed, lines: Some((0, 0)) };
    assert_eq!(repository.diff(&first, &second).await.unwrap().files, [renamed]);

    let line = |number, text: &str, commit: &str, author: &str, seconds: i64| BlameLine {
        number,
        text: text.into(),
        commit: commit.into(),
        author: author.into(),
        at: Timestamp::from_micros(seconds * 1_000_000),
    };
    assert_eq!(
        repository.blame(&third, "b.txt").await.unwrap(),
        [
            line(1, "one", &first, "User", 1000),
            line(2, "zwei", &third, "Architect", 2000),
            line(3, "\ttabbed", &third, "Architect", 2000),
        ]
    );
    let missing = repository.blame("main", "b.txt").await.unwrap_err();
    assert!(matches!(missing, GitError::Invalid(_)), "{missing}");
}

#[tokio::test]
async fn runs_are_listed_and_cleaned_up_as_often_as_one_likes() {
    let user = User::with_a_commit();
    let before = user.git(&["for-each-ref"]);
    let first = user.git(&["rev-parse", "HEAD"]);
    let repository = user.repository().await;
    let one = repository.worktree(WorktreeKind::Debate, "one", None).await.unwrap();
    let two = repository.worktree(WorktreeKind::Task, "two", None).await.unwrap();
    let head = one.commit(files([("x", "x")]), &author("X")).await.unwrap().commit;
    let listed = |kind: WorktreeKind, run: &str, head: &str, folder: Option<&Path>| WorktreeInfo {
        kind,
        run: run.into(),
        branch: format!("{kind}/{run}"),
        base: first.clone(),
        head: Some(head.into()),
        folder: folder.map(Path::to_owned),
    };
    let both = [
        listed(WorktreeKind::Debate, "one", &head, Some(one.folder())),
        listed(WorktreeKind::Task, "two", &first, Some(two.folder())),
    ];
    assert_eq!(repository.list().await.unwrap(), both);
    // In whichever way git keeps its references.
    user.git(&["pack-refs", "--all"]);
    assert_eq!(repository.list().await.unwrap(), both);

    for _ in 0..2 {
        repository.remove(WorktreeKind::Debate, "one", Removal::Folder).await.unwrap();
        repository.remove(WorktreeKind::Task, "two", Removal::Everything).await.unwrap();
        repository.remove(WorktreeKind::Plan, "never-there", Removal::Everything).await.unwrap();
    }
    assert!(!one.folder().exists() && !two.folder().exists());
    assert_eq!(repository.list().await.unwrap(), [listed(WorktreeKind::Debate, "one", &head, None)]);
    // The branch was kept, and what it changed can still be seen; a worktree comes back on it.
    let again = repository.worktree(WorktreeKind::Debate, "one", None).await.unwrap();
    assert_eq!(again.diff().await.unwrap().files.len(), 1);
    assert!(again.folder().join("x").exists());

    repository.remove(WorktreeKind::Debate, "one", Removal::Everything).await.unwrap();
    assert_eq!(repository.list().await.unwrap(), []);
    assert_eq!(user.git(&["for-each-ref"]), before);
    assert_eq!(user.git(&["worktree", "list"]).lines().count(), 1);
    let left = fs::read_dir(user.top().join(".git/folkmoot")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["worktrees", "worktrees.lock"]);

    let gone = again.commit(files([("y", "y")]), &author("Y")).await.unwrap_err();
    assert!(matches!(gone, GitError::Conflict(_)), "{gone}");
}

#[tokio::test]
async fn the_users_own_work_is_never_touched() {
    let user = User::with_a_commit();
    user.write(".gitignore", "ignored\n");
    user.write("ignored", "x");
    user.write("untracked", "x");
    user.write("staged", "x");
    user.git(&["add", "staged"]);
    user.write("a.txt", "half done\n");
    let before = user.own();
    let index = fs::read(user.top().join(".git/index")).unwrap();

    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    assert!(!worktree.folder().join("staged").exists());
    worktree.commit(files([("a.txt", "agent\n")]), &author("A")).await.unwrap();
    fs::write(worktree.folder().join("more"), "x").unwrap();
    worktree.commit_all(&author("B")).await.unwrap();
    worktree.diff().await.unwrap();
    repository.history("task/t", "a.txt", 5).await.unwrap();
    repository.blame("task/t", "a.txt").await.unwrap();
    assert_eq!(fs::read(user.top().join(".git/index")).unwrap(), index);
    assert_eq!(user.own(), before);
    repository.remove(WorktreeKind::Task, "t", Removal::Everything).await.unwrap();
    assert_eq!(user.own(), before);
}

#[tokio::test]
async fn a_diff_that_is_too_long_says_that_it_was_cut_and_names_every_file() {
    let user = User::with_a_commit();
    let limits = GitLimits { diff_bytes: 2000, ..GitLimits::default() };
    let repository = Repository::open_with(&user.top(), limits).await.unwrap();
    let worktree = repository.worktree(WorktreeKind::Debate, "long", None).await.unwrap();
    let long = "a line of text\n".repeat(100_000);
    worktree.commit(files([("1", &long), ("2", "short\n")]), &author("Long")).await.unwrap();
    let diff = worktree.diff().await.unwrap();
    assert!(diff.cut && diff.text.len() <= 2000 && diff.text.ends_with('\n'));
    assert_eq!(diff.files.iter().map(|file| file.lines).collect::<Vec<_>>(), [Some((100_000, 0)), Some((1, 0))]);
}

#[tokio::test]
async fn limits_are_errors_of_their_own() {
    let user = User::with_a_commit();
    let tight = GitLimits { snapshot_bytes: 10, snapshot_files: 2, output_bytes: 3000, ..GitLimits::default() };
    let repository = Repository::open_with(&user.top(), tight).await.unwrap();
    let worktree = repository.worktree(WorktreeKind::Debate, "tight", None).await.unwrap();
    let too_large = |result: Result<SnapshotCommit, GitError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, GitError::TooLarge(_)), "{error}");
    };
    too_large(worktree.commit(files([("a", "more than ten")]), &author("A")).await);
    too_large(worktree.commit(files([("a", ""), ("b", ""), ("c", "")]), &author("A")).await);
    fs::write(worktree.folder().join("big"), "more than ten").unwrap();
    too_large(worktree.commit_all(&author("A")).await);

    user.write("many", &"line\n".repeat(1000));
    user.git(&["add", "many"]);
    user.git(&["commit", "-q", "-m", "Many"]);
    let error = repository.blame("main", "many").await.unwrap_err();
    assert!(matches!(error, GitError::TooLarge(_)), "{error}");

    // Git waits for ever for a configuration that comes through a pipe.
    let hurried = GitLimits { time: std::time::Duration::from_millis(300), ..GitLimits::default() };
    let hurried = Repository::open_with(&user.top(), hurried).await.unwrap();
    let pipe = user.folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    user.git(&["config", "include.path", pipe.to_str().unwrap()]);
    let error = hurried.resolve("main").await.unwrap_err();
    assert!(matches!(error, GitError::TimedOut { .. }), "{error}");
}
