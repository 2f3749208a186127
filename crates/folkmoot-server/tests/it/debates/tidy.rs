//! What a debate leaves in a repository when it is ended from outside: its branch, and nothing
//! else.

use std::{fs, path::Path, process::Command, time::Duration};

use folkmoot_server::workflows::tools::{Repository, git::WorktreeKind};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{ALICE, gates, ok, over, show, start_as, waits};
use crate::node::{Node, Setting};

const CODE: &str = "Write parse_duration in Python: turn 90s, 5m, 1h30m or 2d into seconds, refuse anything else";

/// A user's repository with one commit.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::write(project.path().join("README.md"), "# a project\n").unwrap();
        for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "Begin"]] {
            project.git(arguments);
        }
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=user", "-c", "user.email=user@example.org"])
            .args(arguments)
            .current_dir(self.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The folders that have something checked out, the user's own left out.
    fn worktrees(&self) -> Vec<String> {
        let list = self.git(&["worktree", "list", "--porcelain"]);
        let folders = list.lines().filter_map(|line| line.strip_prefix("worktree "));
        folders.skip(1).map(str::to_owned).collect()
    }

    /// How many commits the branch of a session has more than the user's.
    fn commits(&self, session: &str) -> u32 {
        self.git(&["rev-list", "--count", &format!("HEAD..debate/{session}")]).parse().unwrap()
    }

    async fn has_no_worktree(&self) {
        for _ in 0..500 {
            if self.worktrees().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("it is still there: {:?}", self.worktrees());
    }

    fn debate(&self, with: Value) -> Value {
        let mut body = json!({
            "topic": CODE, "language": "python", "repository": self.path(), "agents": 2, "answers": 1, "tool_calls_max": 0,
        });
        body.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
        body
    }
}

fn session(debate: &Value) -> String {
    debate["session_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_cancelled_debate_leaves_its_branch_and_no_folder() {
    let (node, project) = (Node::start().await, Project::new());
    for by_run in [false, true] {
        let id = start_as(&node, ALICE, project.debate(json!({ "gates": gates(&["proposal"]) }))).await;
        waits(&node, &id, "").await;
        let session = session(&show(&node, &id).await);
        assert_eq!(project.worktrees().len(), 1, "it works there");
        let folder = project.worktrees().remove(0);
        let commits = project.commits(&session);
        assert!(commits > 0, "it has committed something");
        let answer = match by_run {
            true => node.post(ALICE, &format!("/v1/runs/{id}/cancel"), json!({})).await,
            false => node.send(ALICE, "DELETE", &format!("/v1/debates/{id}"), Value::Null).await,
        };
        ok(answer);
        // Whoever is told that it is cancelled finds it so.
        assert_eq!(project.worktrees(), Vec::<String>::new());
        assert!(!Path::new(&folder).exists(), "{folder} is gone");
        assert_eq!(project.commits(&session), commits);
    }
}

#[tokio::test]
async fn a_debate_that_runs_out_of_time_leaves_no_folder() {
    let silent = serde_json::from_value(json!({ "kind": "command", "command": ["sleep", "600"] })).unwrap();
    let setting = Setting { provider: Some(("silent".to_owned(), silent)), ..Setting::default() };
    let (node, project) = (Node::with(setting).await, Project::new());
    // Its tools are looked for first, in its worktree.
    let wanted = project.debate(json!({ "timeout_ms": 8000, "tool_calls_max": 4, "provider": "silent" }));
    let id = start_as(&node, ALICE, wanted).await;
    for _ in 0..1_500 {
        if !project.worktrees().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(project.worktrees().len(), 1, "it works there");
    let debate = over(&node, &id).await;
    assert_eq!(debate["fault"]["code"], "limit_exceeded");
    project.has_no_worktree().await;
    assert_eq!(project.commits(&session(&debate)), 0, "its branch stays");
}

#[tokio::test]
async fn what_was_left_while_no_server_was_there_is_removed_when_one_starts() {
    let (node, project) = (Node::start().await, Project::new());
    let id = start_as(&node, ALICE, project.debate(json!({ "gates": gates(&["proposal"]) }))).await;
    waits(&node, &id, "").await;
    let session = session(&show(&node, &id).await);
    let commits = project.commits(&session);
    let going_on = start_as(&node, ALICE, project.debate(json!({ "gates": gates(&["proposal"]) }))).await;
    waits(&node, &going_on, "").await;
    ok(node.send(ALICE, "DELETE", &format!("/v1/debates/{id}"), Value::Null).await);
    assert_eq!(project.worktrees().len(), 1);
    // The second look at what was cancelled is over before it is left there again.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let data = node.stop().await;
    // As it is where the server was killed between the end of the debate and the removal.
    let repository = Repository::open(project.path()).await.unwrap();
    repository.worktree(WorktreeKind::Debate, &session, None).await.unwrap();
    assert_eq!(project.worktrees().len(), 2);
    let node = Node::on(data, Setting::default()).await;
    for _ in 0..500 {
        if project.worktrees().len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let left = project.worktrees();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!left[0].contains(&session), "the one of the debate that goes on stays: {left:?}");
    assert_eq!(project.commits(&session), commits);
    node.stop().await;
}
