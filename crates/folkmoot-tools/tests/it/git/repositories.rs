//! Repositories of every shape.

use super::*;

#[tokio::test]
async fn a_repository_without_commits_gives_an_empty_start() {
    let user = User::without_commits();
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Debate, "new", None).await.unwrap();
    worktree.commit(files([("a", "a\n")]), &author("A")).await.unwrap();
    let diff = worktree.diff().await.unwrap();
    assert_eq!(diff.files.len(), 1);
    // The user's branch is still not born, and can take the work over.
    assert!(!user.try_git(&user.top(), &["rev-parse", "--verify", "-q", "HEAD"]).status.success());
    user.git(&["merge", "-q", "debate/new"]);
    assert_eq!(fs::read_to_string(user.top().join("a")).unwrap(), "a\n");
}

#[tokio::test]
async fn a_detached_head_and_a_start_that_is_named() {
    let user = User::with_a_commit();
    let first = user.git(&["rev-parse", "HEAD"]);
    user.write("a.txt", "second\n");
    user.git(&["commit", "-q", "-a", "-m", "Second"]);
    user.git(&["tag", "v2"]);
    user.git(&["checkout", "-q", "--detach", &first]);
    let repository = user.repository().await;
    assert_eq!(repository.worktree(WorktreeKind::Debate, "detached", None).await.unwrap().base(), first);
    let named = repository.worktree(WorktreeKind::Debate, "named", Some("v2")).await.unwrap();
    assert_eq!(fs::read_to_string(named.folder().join("a.txt")).unwrap(), "second\n");
}

#[tokio::test]
async fn a_bare_repository_works() {
    let user = User::with_a_commit();
    let bare = user.folder.path().join("bare.git");
    user.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let repository = Repository::open(&bare).await.unwrap();
    let worktree = repository.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    worktree.commit(files([("b", "b\n")]), &author("B")).await.unwrap();
    assert_eq!(worktree.diff().await.unwrap().files.len(), 1);
    assert_eq!(repository.blame("task/t", "b").await.unwrap().len(), 1);
    repository.remove(WorktreeKind::Task, "t", Removal::Everything).await.unwrap();
    assert_eq!(repository.list().await.unwrap(), []);
}

#[tokio::test]
async fn a_folder_below_and_a_worktree_of_the_users_work_too() {
    let user = User::with_a_commit();
    let other = user.folder.path().join("other");
    user.git(&["worktree", "add", "-q", "-b", "feature", other.to_str().unwrap()]);
    fs::write(other.join("a.txt"), "feature\n").unwrap();
    user.try_git(&other, &["commit", "-q", "-a", "-m", "Feature"]);
    let feature = user.git(&["rev-parse", "feature"]);
    // Runs start from what is checked out where one stands.
    let from_feature = Repository::open(&other).await.unwrap().worktree(WorktreeKind::Task, "f", None).await.unwrap();
    assert_eq!(from_feature.base(), feature);
    let from_main =
        Repository::open(&user.top().join("src")).await.unwrap().worktree(WorktreeKind::Task, "m", None).await.unwrap();
    assert_eq!(from_main.base(), user.git(&["rev-parse", "main"]));

    // Cleaning up ours leaves theirs, also when its folder is away for now.
    fs::rename(&other, user.folder.path().join("away")).unwrap();
    user.repository().await.remove(WorktreeKind::Task, "f", Removal::Everything).await.unwrap();
    fs::rename(user.folder.path().join("away"), &other).unwrap();
    assert_eq!(user.try_git(&other, &["status", "--porcelain"]).status.code(), Some(0));
}

#[tokio::test]
async fn ids_of_another_length_work() {
    let user = User { folder: tempfile::tempdir().unwrap() };
    fs::create_dir(user.top()).unwrap();
    user.git(&["init", "-q", "--object-format=sha256", "-b", "main"]);
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Debate, "long", None).await.unwrap();
    let commit = worktree.commit(files([("a", "a\n")]), &author("A")).await.unwrap().commit;
    assert_eq!(commit.len(), 64);
    assert_eq!(repository.blame(&commit, "a").await.unwrap()[0].commit, commit);
    assert_eq!(worktree.diff().await.unwrap().files.len(), 1);
}

#[tokio::test]
async fn names_that_are_no_text_are_committed_and_shown_as_far_as_they_can() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    let user = User { folder: tempfile::tempdir().unwrap() };
    let odd = user.folder.path().join(OsStr::from_bytes(b"r\xe9po"));
    fs::create_dir(&odd).unwrap();
    user.try_git(&odd, &["init", "-q", "-b", "main"]);
    let worktree = Repository::open(&odd).await.unwrap().worktree(WorktreeKind::Debate, "odd", None).await.unwrap();
    fs::write(worktree.folder().join(OsStr::from_bytes(b"caf\xe9")), "x\n").unwrap();
    worktree.commit_all(&author("Odd")).await.unwrap();
    let diff = worktree.diff().await.unwrap();
    assert_eq!(diff.files[0].path, "caf\u{fffd}");
    assert!(diff.text.contains("caf\\351"), "{}", diff.text);
    worktree.repository().remove(WorktreeKind::Debate, "odd", Removal::Everything).await.unwrap();
    assert!(!worktree.folder().exists());
}

#[tokio::test]
async fn what_is_no_repository_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        let error = Repository::open(&path).await.unwrap_err();
        assert!(matches!(error, GitError::NotARepository(_)), "{error}");
    }
}

#[tokio::test]
async fn a_branch_of_the_users_is_not_taken_over() {
    let user = User::with_a_commit();
    user.git(&["branch", "debate/mine"]);
    user.git(&["branch", "task"]);
    let repository = user.repository().await;
    for (kind, run) in [(WorktreeKind::Debate, "mine"), (WorktreeKind::Task, "t")] {
        let error = repository.worktree(kind, run, None).await.unwrap_err();
        assert!(matches!(error, GitError::Conflict(_)), "{error}");
        repository.remove(kind, run, Removal::Everything).await.unwrap();
    }
    assert_eq!(user.git(&["branch", "--format=%(refname:short)"]), "debate/mine\nmain\ntask");
}

#[tokio::test]
async fn a_branch_that_the_user_has_checked_out_is_a_conflict() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    repository.worktree(WorktreeKind::Debate, "c", None).await.unwrap();
    repository.remove(WorktreeKind::Debate, "c", Removal::Folder).await.unwrap();
    user.git(&["checkout", "-q", "debate/c"]);
    let error = repository.worktree(WorktreeKind::Debate, "c", None).await.unwrap_err();
    assert!(matches!(error, GitError::Conflict(_)), "{error}");
    user.git(&["checkout", "-q", "main"]);
    repository.worktree(WorktreeKind::Debate, "c", None).await.unwrap();
}

#[tokio::test]
async fn a_branch_that_somebody_moved_is_not_overwritten_but_continued() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "m", None).await.unwrap();
    fs::write(worktree.folder().join("by hand"), "x").unwrap();
    user.try_git(worktree.folder(), &["add", "."]);
    user.try_git(worktree.folder(), &["commit", "-q", "-m", "By hand"]);
    worktree.commit(files([("b", "b")]), &author("B")).await.unwrap();
    assert_eq!(user.git(&["log", "--format=%s", "task/m"]), "B\nBy hand\nFirst");
}

#[tokio::test]
async fn root_can_use_the_repository_of_somebody_else_by_naming_it() {
    let user = User::with_a_commit();
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(12345), Some(12345));
    let mut all = vec![user.top()];
    let mut done = 0;
    while let Some(path) = all.get(done).cloned() {
        if path.is_dir() {
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        done += 1;
    }
    if all.iter().any(|path| give(path).is_err()) {
        // Only root can give something away, and only root would be asked.
        return;
    }
    assert!(!user.try_git(&user.top(), &["status"]).status.success(), "git itself does not mind");
    let worktree = user.repository().await.worktree(WorktreeKind::Task, "t", None).await.unwrap();
    worktree.commit(files([("b", "b\n")]), &author("B")).await.unwrap();
    assert_eq!(worktree.diff().await.unwrap().files.len(), 1);
    let error = Repository::open(&user.top().join("src")).await.unwrap_err();
    assert!(matches!(&error, GitError::Invalid(why) if why.contains("top folder")), "{error}");
}
