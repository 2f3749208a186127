//! Interrupted at any point, and done again.

use std::time::Duration;

use super::*;

#[tokio::test]
async fn a_run_that_comes_back_gets_its_worktree_as_it_was() {
    let user = User::with_a_commit();
    let first = user.repository().await.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
    let commit = first.commit(files([("b", "b")]), &author("B")).await.unwrap().commit;
    fs::write(first.folder().join("not committed"), "x").unwrap();
    // The user goes on meanwhile, which does not matter to a run that has begun.
    user.write("a.txt", "later\n");
    user.git(&["commit", "-q", "-a", "-m", "Later"]);

    let second = user.repository().await.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
    assert_eq!((second.folder(), second.base()), (first.folder(), first.base()));
    assert_eq!(second.head().await.unwrap(), commit);
    assert!(second.folder().join("not committed").exists());
    // The step that was not recorded is done again, and finds it done.
    let again = second.commit(files([("b", "b")]), &author("B")).await.unwrap();
    assert_eq!(again, SnapshotCommit { commit, changed: false });
}

#[tokio::test]
async fn what_an_interrupted_git_left_behind_is_put_right() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
    let git = user.top().join(".git");
    let leave_locks = || {
        for file in ["worktrees/debate-r/index.lock", "worktrees/debate-r/HEAD.lock", "refs/heads/debate/r.lock"] {
            fs::write(git.join(file), "").unwrap();
        }
    };
    leave_locks();
    assert!(worktree.commit(files([("b", "b")]), &author("B")).await.unwrap().changed);
    leave_locks();
    repository.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
    leave_locks();
    repository.remove(WorktreeKind::Debate, "r", Removal::Everything).await.unwrap();
    fs::create_dir_all(git.join("refs/heads/debate")).unwrap();
    fs::write(git.join("refs/heads/debate/r.lock"), "").unwrap();
    repository.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
}

#[tokio::test]
async fn every_half_made_worktree_is_made_again() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    let git = user.top().join(".git");
    let making = |folder: &Path| {
        fs::write(git.join("folkmoot/debate-r.claim"), format!("making\n{}\n", folder.display())).unwrap()
    };
    for case in 0..6 {
        let worktree = repository.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
        let commit = worktree.commit(files([("b", &case.to_string())]), &author("B")).await.unwrap().commit;
        let folder = worktree.folder().to_owned();
        match case {
            // Killed while files were checked out.
            0 => {
                making(&folder);
                fs::remove_file(folder.join("a.txt")).unwrap();
                fs::remove_file(git.join("worktrees/debate-r/index")).unwrap();
            }
            // Killed before git made its own folder.
            1 => {
                making(&folder);
                fs::remove_dir_all(git.join("worktrees")).unwrap();
            }
            // Killed while it was removed.
            2 => {
                making(&folder);
                fs::remove_dir_all(&folder).unwrap();
            }
            // Somebody has removed the folder.
            3 => fs::remove_dir_all(&folder).unwrap(),
            // Somebody has pruned.
            4 => fs::remove_dir_all(git.join("worktrees")).unwrap(),
            // Nothing but the claim was written.
            _ => {
                making(&folder);
                fs::remove_dir_all(&folder).unwrap();
                fs::remove_dir_all(git.join("worktrees")).unwrap();
            }
        }
        let again = repository.worktree(WorktreeKind::Debate, "r", None).await.unwrap();
        assert_eq!(again.head().await.unwrap(), commit, "case {case}");
        assert_eq!(user.try_git(again.folder(), &["status", "--porcelain"]).stdout, b"", "case {case}");
        assert_eq!(user.git(&["worktree", "list"]).lines().count(), 2, "case {case}");
    }
}

#[tokio::test]
async fn whenever_it_is_given_up_the_next_call_finishes_it() {
    let user = User::with_a_commit();
    for number in 0..200 {
        user.write(&format!("many/{number}"), "x");
    }
    user.git(&["add", "."]);
    user.git(&["commit", "-q", "-m", "Many"]);
    let repository = user.repository().await;
    let mut given_up = 0;
    for milliseconds in (0..50).step_by(10) {
        let patience = Duration::from_millis(milliseconds);
        given_up += usize::from(
            tokio::time::timeout(patience, repository.worktree(WorktreeKind::Task, "t", None)).await.is_err(),
        );
        let worktree = repository.worktree(WorktreeKind::Task, "t", None).await.unwrap();
        assert_eq!(user.try_git(worktree.folder(), &["status", "--porcelain"]).stdout, b"", "after {patience:?}");

        let snapshot = || files([("many/1", "y"), ("new", &milliseconds.to_string())]);
        given_up +=
            usize::from(tokio::time::timeout(patience, worktree.commit(snapshot(), &author("S"))).await.is_err());
        worktree.commit(snapshot(), &author("S")).await.unwrap();
        assert_eq!(user.git(&["show", "task/t:new"]), milliseconds.to_string());

        let remove = || repository.remove(WorktreeKind::Task, "t", Removal::Everything);
        given_up += usize::from(tokio::time::timeout(patience, remove()).await.is_err());
        remove().await.unwrap();
        assert_eq!(repository.list().await.unwrap(), [], "after {patience:?}");
    }
    assert!(given_up > 2, "nothing was interrupted, so nothing was tested");
    user.git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn many_at_once_get_one_worktree_and_lose_no_commit() {
    let user = User::with_a_commit();
    let repository = user.repository().await;
    let work = (0..8).map(|number| {
        // Each with a repository of its own, as programs of their own would have.
        let repository = repository.clone();
        async move {
            let worktree = repository.worktree(WorktreeKind::Debate, "shared", None).await.unwrap();
            worktree.commit(files([(&format!("f{number}"), "x")]), &author("W")).await.unwrap();
            worktree.folder().to_owned()
        }
    });
    let folders = futures_util::future::join_all(work).await;
    assert!(folders.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(user.git(&["rev-list", "--count", "main..debate/shared"]), "8");
    let others = (0..6).map(|number| {
        let repository = repository.clone();
        async move { repository.worktree(WorktreeKind::Task, &format!("t{number}"), None).await.unwrap() }
    });
    futures_util::future::join_all(others).await;
    assert_eq!(repository.list().await.unwrap().len(), 7);
}

#[tokio::test]
async fn folders_that_an_agent_made_read_only_go_too() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::with_a_commit();
    let repository = user.repository().await;
    let worktree = repository.worktree(WorktreeKind::Task, "ro", None).await.unwrap();
    let cache = worktree.folder().join("cache/deep");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("file"), "x").unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
    repository.remove(WorktreeKind::Task, "ro", Removal::Everything).await.unwrap();
    assert!(!worktree.folder().exists());
}
