//! A client that was written from the planner API's description alone, with Python's standard
//! library.

use std::process::Stdio;

use tokio::{io::AsyncWriteExt, process::Command};

use super::ALICE;
use crate::node::{everywhere, token};

/// Knows the planner API's two endpoints, its `ApprovalResponse` and its `status` words; nothing of
/// Folkmoot but where it is.
const CLIENT: &str = r#"
import json, sys, time, urllib.request

base, token = sys.argv[1], sys.argv[2]

def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
    request = urllib.request.Request(base + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def approve(request, status, **more):
    body = {"approval_id": request["approval_id"], "approval_status": status, "timestamp": "2025-10-29T12:00:00Z", **more}
    return call("POST", "/api/approve", body)

def after(answer):
    """Whatever it takes until something is asked or everything is done."""
    while answer["status"] in ("planning_in_progress", "paused"):
        time.sleep(0.1)
        answer = call("GET", "/api/plan/" + answer["session_id"])
    return answer

proposal = after(call("POST", "/api/plan", {"goal": "Open a second bakery", "max_iterations": 6, "checkpoint_interval": 3}))
assert proposal["status"] == "awaiting_approval" and proposal["approval_type"] == "proposal", proposal

adjusted = after(approve(proposal, "adjust_requested", feedback="Begin with the ovens"))
assert adjusted["approval_type"] == "proposal", adjusted
assert adjusted["approval_id"] != proposal["approval_id"], adjusted
assert "Begin with the ovens" in adjusted["proposal"], adjusted

checkpoint = after(approve(adjusted, "approved"))
assert checkpoint["approval_type"] == "checkpoint" and checkpoint["iteration"] == 3, checkpoint
assert checkpoint["total_iterations"] == 6 and len(checkpoint["insights"]) == 3, checkpoint

paused = approve(checkpoint, "paused")
assert paused["status"] == "paused" and paused["iteration"] == 3, paused

final = after(paused)
assert final["status"] == "complete" and final["plan_saved_to_memory"] is True, final
assert final["iterations_completed"] == 3 and "executive_summary_report" in final["memory_entities"], final
print(len(final["final_plan"]))
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_written_from_the_seed_alone_comes_to_a_plan() {
    for nodes in everywhere().await {
        // A reviewer plans and decides: whoever starts a plan may, unless the policy says
        // otherwise.
        let mut python = Command::new("python3")
            .args(["-", &nodes[0].url, &token(ALICE)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("there is a python3");
        python.stdin.take().unwrap().write_all(CLIENT.as_bytes()).await.unwrap();
        let output = python.wait_with_output().await.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let length: usize = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap();
        assert!(length > 200, "{length}");
    }
}
