//! Runs that the server executes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_engine::{Ctx, Workflows};
use serde_json::json;

use super::{lines, with_workflows};
use crate::node::{Node, Setting, everywhere_with};

#[tokio::test]
async fn a_workflow_waits_for_a_person_and_goes_on_when_they_have_decided_on_any_node() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts("publish@1", json!("News")).await;
        let gate = last.gate_of(&run).await;
        assert_eq!(lines(&last.journal_of(&run).await), ["draft step done", "publish gate waiting"]);
        assert_eq!(last.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await.status, 200);
        let ended = last.get("agent-a", &format!("/v1/runs/{run}/wait?timeout_ms=20000")).await.json();
        assert_eq!((&ended["status"], &ended["ending"]["output"]), (&json!("completed"), &json!("News: a draft")));
        let journal = first.journal_of(&run).await;
        assert_eq!(lines(&journal), ["draft step done", "publish gate done approved", "ship once done"]);
        assert_eq!((&journal[1]["gate_id"], &journal[0]["result"]), (&json!(gate), &json!("News: a draft")));

        let rejected = first.starts("publish@1", json!("Rumours")).await;
        let gate = last.gate_of(&rejected).await;
        last.post("alice", &format!("/v1/gates/{gate}/reject"), json!({"reason": "not true"})).await;
        let failed = first.until_is(&rejected, "failed").await;
        assert_eq!(
            (&failed["ending"]["code"], &failed["ending"]["reason"]),
            (&json!("not_published"), &json!("not true"))
        );
        first.verifies().await;
    }
}

#[tokio::test]
async fn what_a_run_starts_is_listed_by_its_parent_and_ends_with_it() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let parent = first.starts("parent@1", json!(null)).await;
        let waiting = last.until(&parent, |run| run["waiting_at"]["runs"][0].is_string()).await;
        let child = waiting["waiting_at"]["runs"][0].as_str().unwrap().to_owned();
        last.gate_of(&child).await;
        let listed = last.get("agent-a", &format!("/v1/runs?parent={parent}")).await.json();
        assert_eq!((&listed["runs"][0]["id"], &listed["runs"][0]["parent"]), (&json!(child), &json!(parent)));
        assert_eq!(last.journal_of(&parent).await[0]["run_id"], json!(child));
        last.to_run("agent-a", &parent, "cancel", json!({})).await;
        first.until_is(&child, "cancelled").await;
        first.verifies().await;
    }
}

#[tokio::test]
async fn a_run_that_stopped_says_why_and_goes_on_only_when_somebody_says_so() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts("twice@1", json!(null)).await;
        let stopped = last.until_is(&run, "stopped").await;
        assert_eq!(stopped["stopped"]["code"], "key_used_twice");
        let listed = last.get("vera", "/v1/runs?status=stopped").await.json();
        assert_eq!((&listed["runs"][0]["id"], &listed["runs"][0]["stopped"]), (&json!(run), &stopped["stopped"]));
        let resumed = last.to_run("alice", &run, "resume", json!({})).await;
        assert_eq!((resumed.status, &resumed.json()["stopped"]), (200, &json!(null)), "{resumed:?}");
        first.until_is(&run, "stopped").await;
        let told = first.story(&format!("run:{run}")).await;
        assert_eq!(told.iter().filter(|kind| *kind == "run.stopped").count(), 2, "{told:?}");
        assert_eq!(last.to_run("agent-a", &run, "cancel", json!({})).await.status, 200);
        first.verifies().await;
    }
}

/// Loops within one poll, without a call or with one now and then, until it is told to end.
fn spinning(end: &Arc<AtomicBool>) -> Workflows {
    let spin = |calls: bool| {
        let end = end.clone();
        move |ctx: Ctx, (): ()| {
            let end = end.clone();
            async move {
                for n in 0_u64.. {
                    if end.load(Ordering::SeqCst) {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                    if calls {
                        ctx.join(format!("group/{n}"), [()], |_, ()| async { Ok(()) }).await?;
                    }
                }
                Ok(())
            }
        }
    };
    Workflows::new().with("blocks@1", spin(false)).with("loops@1", spin(true))
}

/// Ends spinning threads also where a test fails.
struct Ends(Arc<AtomicBool>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_answers_cancels_and_ends_while_workflows_spin() {
    let end = Ends(Arc::default());
    let node = Node::with(Setting { workflows: spinning(&end.0), ..Setting::default() }).await;
    // As many as there are threads, of each sort.
    let mut runs = Vec::new();
    for workflow in ["blocks@1", "loops@1", "blocks@1", "loops@1"] {
        runs.push(node.starts(workflow, json!(null)).await);
    }
    for run in &runs {
        node.until_is(run, "running").await;
    }
    assert_eq!(node.get("alice", "/healthz").await.status, 200);
    let body = json!({ "limits": { "active_ms_max": 200 }, "workflow": "blocks@1" });
    let limited = node.post("agent-a", "/v1/runs", body).await.json()["id"].as_str().unwrap().to_owned();
    let failed = node.until_is(&limited, "failed").await;
    assert_eq!(failed["ending"]["code"], "limit_exceeded", "{failed:#}");
    for run in &runs {
        node.to_run("alice", run, "cancel", json!({})).await;
        node.until_is(run, "cancelled").await;
    }
    tokio::time::timeout(Duration::from_secs(20), node.stop()).await.expect("it ends, whatever is running");
}
