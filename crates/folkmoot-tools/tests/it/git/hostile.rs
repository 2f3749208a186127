//! Repositories whose configuration would have git execute a program.
//!
//! Each case is executed twice: by the user's own git, which must run the program, or else the case
//! shows nothing; and by ours, which must not.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A repository with a trap: a program that leaves a mark.
struct Trap {
    user: User,
    program: PathBuf,
    mark: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let user = User::with_a_commit();
        let (program, mark) = (user.folder.path().join("program"), user.folder.path().join("mark"));
        // It passes on what it is given, so that git goes on as if nothing was.
        fs::write(&program, format!("#!/bin/sh\necho \"$0 $@\" >> '{}'\n[ -t 0 ] || cat\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { user, program, mark }
    }

    fn program(&self) -> &str {
        self.program.to_str().unwrap()
    }

    fn configure(&self, key: &str) -> &Self {
        self.user.git(&["config", key, self.program()]);
        self
    }

    fn attributes(&self, text: &str) -> &Self {
        fs::create_dir_all(self.user.top().join(".git/info")).unwrap();
        fs::write(self.user.top().join(".git/info/attributes"), text).unwrap();
        self
    }

    /// The user's git runs into it.
    fn bites(&self, folder: &Path, arguments: &[&str]) -> &Self {
        let output = self.user.try_git(folder, arguments);
        assert!(self.mark.exists(), "git {arguments:?} did not run the program: {output:?}");
        fs::remove_file(&self.mark).unwrap();
        self
    }

    fn bites_at_top(&self, arguments: &[&str]) -> &Self {
        self.bites(&self.user.top(), arguments)
    }

    /// Everything that ours can do, and no mark is left.
    async fn is_held_off(&self) {
        let repository = self.user.repository().await;
        let worktree = repository.worktree(WorktreeKind::Debate, "h", None).await.unwrap();
        worktree.commit(files([("a.txt", "changed\n"), ("new.txt", "new\n")]), &author("C")).await.unwrap();
        fs::write(worktree.folder().join("src/lib.rs"), "pub fn two() {}\n").unwrap();
        fs::write(worktree.folder().join("other.txt"), "other\n").unwrap();
        worktree.commit_all(&author("All")).await.unwrap();
        let diff = worktree.diff().await.unwrap();
        assert_eq!(diff.files.len(), 4);
        assert!(diff.text.contains("+changed\n") && diff.text.contains("-two\n"), "{}", diff.text);
        assert_eq!(repository.history("debate/h", "a.txt", 5).await.unwrap().len(), 2);
        assert_eq!(repository.blame("debate/h", "a.txt").await.unwrap().len(), 1);
        repository.list().await.unwrap();
        assert_eq!(fs::read_to_string(worktree.folder().join("a.txt")).unwrap(), "changed\n");
        repository.remove(WorktreeKind::Debate, "h", Removal::Everything).await.unwrap();
        if let Ok(mark) = fs::read_to_string(&self.mark) {
            panic!("it was executed: {mark}");
        }
    }
}

#[tokio::test]
async fn hooks_are_not_run() {
    let trap = Trap::new();
    let hooks = trap.user.top().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in
        ["post-checkout", "pre-commit", "post-commit", "commit-msg", "reference-transaction", "post-index-change"]
    {
        fs::copy(&trap.program, hooks.join(hook)).unwrap();
    }
    trap.bites_at_top(&["checkout", "-q", "-b", "x"]);
    trap.bites_at_top(&["update-ref", "refs/heads/y", "HEAD"]);
    trap.is_held_off().await;
}

#[tokio::test]
async fn hooks_in_another_folder_are_not_run() {
    let trap = Trap::new();
    let hooks = trap.user.folder.path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::copy(&trap.program, hooks.join("reference-transaction")).unwrap();
    trap.user.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    trap.bites_at_top(&["update-ref", "refs/heads/y", "HEAD"]);
    trap.is_held_off().await;
}

#[tokio::test]
async fn the_file_system_monitor_is_not_run() {
    let trap = Trap::new();
    trap.configure("core.fsmonitor").bites_at_top(&["status"]);
    trap.is_held_off().await;
}

#[tokio::test]
async fn filters_are_not_run_even_when_they_are_required() {
    for variable in ["smudge", "clean", "process"] {
        let trap = Trap::new();
        trap.configure(&format!("filter.a.b=c.{variable}"));
        trap.user.git(&["config", "filter.a.b=c.required", "true"]);
        trap.attributes("* filter=a.b=c\n");
        let other = trap.user.folder.path().join("other");
        if variable == "clean" {
            trap.user.write("a.txt", "dirty\n");
            trap.bites_at_top(&["add", "a.txt"]);
        } else {
            trap.bites_at_top(&["worktree", "add", "-q", "--detach", other.to_str().unwrap()]);
        }
        trap.is_held_off().await;
    }
}

#[tokio::test]
async fn a_filter_that_an_agent_asks_for_is_not_run() {
    let trap = Trap::new();
    trap.configure("filter.lfs.clean").configure("filter.lfs.smudge");
    let worktree = trap.user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    let snapshot = files([(".gitattributes", "* filter=lfs diff=lfs merge=lfs\n"), ("a.txt", "x\n")]);
    worktree.commit(snapshot, &author("Ask")).await.unwrap();
    fs::write(worktree.folder().join("a.txt"), "y\n").unwrap();
    worktree.commit_all(&author("Ask again")).await.unwrap();
    assert!(!trap.mark.exists());
    fs::write(worktree.folder().join("a.txt"), "z\n").unwrap();
    trap.bites(worktree.folder(), &["add", "a.txt"]);
}

#[tokio::test]
async fn diff_programs_and_text_converters_are_not_run() {
    let trap = Trap::new();
    trap.configure("diff.external");
    trap.user.write("a.txt", "dirty\n");
    trap.bites_at_top(&["diff"]);
    trap.is_held_off().await;

    for variable in ["command", "textconv"] {
        let trap = Trap::new();
        trap.configure(&format!("diff.evil.{variable}")).attributes("* diff=evil\n");
        trap.user.write("a.txt", "dirty\n");
        trap.bites_at_top(&["diff"]);
        if variable == "textconv" {
            trap.bites_at_top(&["blame", "HEAD", "--", "a.txt"]);
        }
        trap.is_held_off().await;
    }
}

#[tokio::test]
async fn the_signature_program_is_not_run() {
    let trap = Trap::new();
    trap.configure("gpg.program");
    for key in ["commit.gpgSign", "log.showSignature"] {
        trap.user.git(&["config", key, "true"]);
    }
    trap.user.write("a.txt", "dirty\n");
    trap.bites_at_top(&["commit", "-a", "-m", "Signed"]);
    trap.user.git(&["checkout", "-q", "."]);
    trap.is_held_off().await;
}

#[tokio::test]
async fn what_is_included_for_one_branch_only_is_held_off_there() {
    let trap = Trap::new();
    let included = trap.user.folder.path().join("included");
    fs::write(&included, format!("[filter \"late\"]\nsmudge = {0}\nclean = {0}\nrequired = true\n", trap.program()))
        .unwrap();
    trap.user.git(&["config", "includeIf.onbranch:debate/**.path", included.to_str().unwrap()]);
    trap.attributes("* filter=late\n");
    let other = trap.user.folder.path().join("other");
    trap.user.git(&["branch", "debate/x"]);
    trap.user.git(&["worktree", "add", "-q", "--no-checkout", other.to_str().unwrap(), "debate/x"]);
    trap.bites(&other, &["reset", "-q", "--hard"]);
    trap.is_held_off().await;
}

#[tokio::test]
async fn a_promise_of_objects_elsewhere_fetches_nothing() {
    let trap = Trap::new();
    // As a server it says nothing, and hangs up.
    fs::write(&trap.program, format!("#!/bin/sh\necho called >> '{}'\n", trap.mark.display())).unwrap();
    let blob = trap.user.git(&["rev-parse", "HEAD:a.txt"]);
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", &format!("ext::{} %S", trap.program())),
        ("protocol.ext.allow", "always"),
    ] {
        trap.user.git(&["config", key, value]);
    }
    fs::remove_file(trap.user.top().join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    trap.bites_at_top(&["cat-file", "-p", &blob]);
    let repository = trap.user.repository().await;
    let error = repository.worktree(WorktreeKind::Debate, "h", None).await.unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
    assert!(!trap.mark.exists());
    repository.remove(WorktreeKind::Debate, "h", Removal::Everything).await.unwrap();
}

#[tokio::test]
async fn a_repository_that_an_agent_put_inside_is_not_entered() {
    let trap = Trap::new();
    let worktree = trap.user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    // Committed as a submodule first, so that git has a reason to look into it.
    let inside = worktree.folder().join("inside");
    fs::create_dir(&inside).unwrap();
    trap.user.try_git(&inside, &["init", "-q"]);
    fs::write(inside.join("file"), "x").unwrap();
    trap.user.try_git(&inside, &["add", "."]);
    trap.user.try_git(&inside, &["commit", "-q", "-m", "Inside"]);
    trap.user.try_git(worktree.folder(), &["add", "inside"]);
    trap.user.try_git(worktree.folder(), &["commit", "-q", "-m", "Submodule"]);
    fs::write(inside.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    trap.user.try_git(&inside, &["config", "filter.evil.clean", trap.program()]);
    trap.user.try_git(&inside, &["config", "core.fsmonitor", trap.program()]);
    fs::write(inside.join("file"), "y").unwrap();
    trap.bites(worktree.folder(), &["add", "-A"]);

    fs::write(inside.join("file"), "z").unwrap();
    fs::write(worktree.folder().join("a.txt"), "mine\n").unwrap();
    assert!(worktree.commit_all(&author("Around it")).await.unwrap().changed);
    worktree.diff().await.unwrap();
    assert!(!trap.mark.exists());
    // And one that is not committed stays so.
    let stray = worktree.folder().join("stray");
    fs::create_dir(&stray).unwrap();
    trap.user.try_git(&stray, &["init", "-q"]);
    fs::write(stray.join("file"), "x").unwrap();
    assert!(!worktree.commit_all(&author("Nothing")).await.unwrap().changed);
}

#[tokio::test]
async fn the_git_file_in_the_worktree_is_not_believed() {
    let trap = Trap::new();
    let worktree = trap.user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    let other = trap.user.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    trap.user.try_git(&other, &["init", "-q"]);
    trap.user.try_git(&other, &["config", "core.fsmonitor", trap.program()]);
    fs::write(worktree.folder().join(".git"), format!("gitdir: {}\n", other.join(".git").display())).unwrap();
    trap.bites(worktree.folder(), &["status"]);

    fs::write(worktree.folder().join("a.txt"), "mine\n").unwrap();
    let commit = worktree.commit_all(&author("Mine")).await.unwrap().commit;
    assert!(!trap.mark.exists());
    assert_eq!(trap.user.git(&["rev-parse", "task/t"]), commit);
    // Not even a whole repository in its place.
    fs::remove_file(worktree.folder().join(".git")).unwrap();
    fs::rename(other.join(".git"), worktree.folder().join(".git")).unwrap();
    fs::write(worktree.folder().join("a.txt"), "mine again\n").unwrap();
    assert!(worktree.commit_all(&author("Mine")).await.unwrap().changed);
    assert!(!trap.mark.exists());
    worktree.repository().remove(WorktreeKind::Task, "t", Removal::Everything).await.unwrap();
    assert!(!worktree.folder().exists());
}

#[tokio::test]
async fn an_agent_cannot_hide_a_change_behind_attributes() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    let snapshot = files([(".gitattributes", "*.txt -diff\n*.txt binary\n"), ("a.txt", "one\nbackdoor\n")]);
    worktree.commit(snapshot, &author("Hide")).await.unwrap();
    let usual = user.try_git(worktree.folder(), &["diff", "main", "--", "a.txt"]);
    assert!(!String::from_utf8_lossy(&usual.stdout).contains("backdoor"), "attributes hide it from nobody");
    assert!(worktree.diff().await.unwrap().text.contains("+backdoor\n"));
}

#[tokio::test]
async fn a_stand_in_for_a_commit_is_not_shown() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    let commit = worktree.commit(files([("a.txt", "bad\n")]), &author("Bad")).await.unwrap().commit;
    user.git(&["replace", &commit, "main"]);
    assert_eq!(user.git(&["diff", "main", "task/t"]), "");
    assert_eq!(worktree.diff().await.unwrap().files.len(), 1);
}

#[tokio::test]
async fn a_working_tree_that_the_configuration_names_is_not_used() {
    let user = User::with_a_commit();
    let elsewhere = user.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    user.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    worktree.commit(files([("a.txt", "x\n")]), &author("X")).await.unwrap();
    assert_eq!(worktree.diff().await.unwrap().files.len(), 1);
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[tokio::test]
async fn folders_of_git_that_are_links_are_refused() {
    let user = User::with_a_commit();
    let elsewhere = user.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, user.top().join(".git/folkmoot")).unwrap();
    let error = Repository::open(&user.top()).await.unwrap_err();
    assert!(matches!(error, GitError::Conflict(_)), "{error}");
}
