//! Names from outside lead nowhere else.

use super::*;

async fn refused(worktree: &folkmoot_tools::Worktree, path: &str) {
    let before = worktree.head().await.unwrap();
    for snapshot in [
        Snapshot { files: vec![("good".into(), b"x".to_vec()), (path.into(), b"x".to_vec())], deletions: vec![] },
        Snapshot { files: vec![("good".into(), b"x".to_vec())], deletions: vec![path.into()] },
    ] {
        let error = worktree.commit(snapshot, &author("Bad")).await.unwrap_err();
        assert!(matches!(error, GitError::Invalid(_)), "{path:?}: {error}");
    }
    assert!(!worktree.folder().join("good").exists(), "{path:?} came with a file that was written");
    assert_eq!(worktree.head().await.unwrap(), before);
    assert!(matches!(worktree.repository().history("main", path, 1).await, Err(GitError::Invalid(_))), "{path:?}");
    assert!(matches!(worktree.repository().blame("main", path).await, Err(GitError::Invalid(_))), "{path:?}");
}

#[tokio::test]
async fn paths_stay_in_the_worktree_and_out_of_git() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Debate, "names", None).await.unwrap();
    let long = "a/".repeat(600) + "b";
    let name = "n".repeat(256);
    for path in [
        "",
        "/etc/x",
        "../x",
        "a/../../x",
        "a/..",
        ".",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "a\0b",
        "a\nb",
        "-rf",
        "a/--output=x",
        ".git",
        ".git/config",
        ".GIT/hooks/x",
        "a/.Git/config",
        ".git /config",
        ".git./config",
        ".git. ./x",
        "git~1/config",
        "GIT~1/x",
        ".git:stream",
        ".git::$INDEX_ALLOCATION/config",
        ".g\u{200c}it/config",
        "\u{feff}.git/x",
        ".gi\u{206f}t",
        "a\u{202e}b",
        &long,
        &name,
    ] {
        refused(&worktree, path).await;
    }
    // And these are fine.
    let good = [
        (".gitignore", ""),
        (".github/workflows/ci.yml", ""),
        ("a b/ü.txt", ""),
        ("git~10", ""),
        ("a..b", ""),
        ("...", ""),
    ];
    worktree.commit(files(good), &author("Good")).await.unwrap();
}

#[tokio::test]
async fn ids_of_runs_cannot_be_paths_or_options() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    let long = "x".repeat(129);
    for run in [
        "", ".", "..", "../x", "a/b", "-b", "--force", ".hidden", "a..b", "a.lock", "a.", "a:b", "a@{1}", "a b", "a\n",
        "ü", &long,
    ] {
        for error in [
            repository.worktree(WorktreeKind::Debate, run, None).await.map(|_| ()).unwrap_err(),
            repository.remove(WorktreeKind::Debate, run, Removal::Everything).await.unwrap_err(),
        ] {
            assert!(matches!(error, GitError::Invalid(_)), "{run:?}: {error}");
        }
    }
    for revision in ["", "--help", "-n", "nowhere", "main\n", "main..HEAD", &"x".repeat(600)] {
        let error = repository.worktree(WorktreeKind::Debate, "r", Some(revision)).await.unwrap_err();
        assert!(matches!(error, GitError::Invalid(_)), "{revision:?}: {error}");
    }
    assert_eq!(repository.list().await.unwrap(), []);
    assert!(!user.top().join(".git/worktrees").exists());
}

#[tokio::test]
async fn nothing_is_written_or_removed_through_a_link() {
    let user = User::with_a_commit();
    let outside = user.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "mine").unwrap();
    let worktree = user.repository().await.worktree(WorktreeKind::Debate, "links", None).await.unwrap();
    std::os::unix::fs::symlink(&outside, worktree.folder().join("out")).unwrap();
    std::os::unix::fs::symlink(outside.join("file"), worktree.folder().join("file")).unwrap();
    std::os::unix::fs::symlink(user.top().join(".git"), worktree.folder().join("dot")).unwrap();

    for path in ["out/file", "out/new/file", "dot/config"] {
        let write = worktree.commit(files([(path, "theirs")]), &author("Out")).await.unwrap_err();
        assert!(matches!(write, GitError::Conflict(_)), "{path}: {write}");
        let remove = Snapshot { files: vec![], deletions: vec![path.into()] };
        let remove = worktree.commit(remove, &author("Out")).await.unwrap_err();
        assert!(matches!(remove, GitError::Conflict(_)), "{path}: {remove}");
    }
    // The last name is replaced, and what it led to stays.
    worktree.commit(files([("file", "theirs")]), &author("Replace")).await.unwrap();
    assert!(worktree.folder().join("file").symlink_metadata().unwrap().is_file());
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // Clean-up does not go through either.
    worktree.repository().remove(WorktreeKind::Debate, "links", Removal::Everything).await.unwrap();
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
}

#[tokio::test]
async fn a_file_is_not_put_where_a_folder_is_and_the_other_way_round() {
    let user = User::with_a_commit();
    let worktree = user.repository().await.worktree(WorktreeKind::Debate, "d", None).await.unwrap();
    for path in ["src", "a.txt/b"] {
        let error = worktree.commit(files([(path, "x")]), &author("D")).await.unwrap_err();
        assert!(matches!(error, GitError::Conflict(_)), "{path}: {error}");
    }
    // Unless what is in the way goes with the same snapshot.
    let mut snapshot = files([("a.txt/b", "x")]);
    snapshot.deletions = vec!["a.txt".into()];
    assert!(worktree.commit(snapshot, &author("D")).await.unwrap().changed);
}

#[tokio::test]
async fn worktrees_do_not_go_where_the_user_would_see_them() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    std::os::unix::fs::symlink(user.top(), user.folder.path().join("alias")).unwrap();
    for folder in [user.top(), user.top().join("worktrees/deep"), user.folder.path().join("alias/w")] {
        let error = repository.clone().with_worktrees(&folder).unwrap_err();
        assert!(matches!(error, GitError::Invalid(_)), "{error}");
    }
    let elsewhere = user.folder.path().join("elsewhere");
    let repository = repository.with_worktrees(&elsewhere).unwrap();
    fs::create_dir_all(elsewhere.join("debate-x/precious")).unwrap();
    let error = repository.worktree(WorktreeKind::Debate, "x", None).await.unwrap_err();
    assert!(matches!(error, GitError::Conflict(_)), "{error}");
    repository.remove(WorktreeKind::Debate, "x", Removal::Everything).await.unwrap();
    assert!(elsewhere.join("debate-x/precious").exists(), "a folder that nobody claimed was removed");
    let worktree = repository.worktree(WorktreeKind::Debate, "y", None).await.unwrap();
    assert_eq!(worktree.folder(), elsewhere.join("debate-y"));
}
