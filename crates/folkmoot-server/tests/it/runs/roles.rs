//! Who may start, see, touch, cancel and resume.

use serde_json::json;

use super::with_workflows;
use crate::node::everywhere_with;

#[tokio::test]
async fn every_role_may_do_with_a_run_what_the_table_says() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let who = ["agent-a", "agent-b", "vera", "alice", "root-of-all"];
        let start = [201, 201, 403, 201, 201];
        let read = [200, 404, 200, 200, 200];
        // Of a run that agent-a executes itself.
        let record = [201, 404, 403, 403, 403];
        let end = [200, 404, 403, 403, 403];
        let cancel = [200, 404, 403, 200, 200];
        let resume = [409, 404, 403, 409, 409];
        for (n, who) in who.into_iter().enumerate() {
            let started = last.post(who, "/v1/runs", json!({})).await;
            assert_eq!(started.status, start[n], "{who} starts: {started:?}");
            let run = first.starts_own().await;
            for path in ["", "/wait?timeout_ms=1", "/journal", "/events"] {
                let answer = last.get(who, &format!("/v1/runs/{run}{path}")).await;
                assert_eq!(answer.status, read[n], "{who} reads {path}: {answer:?}");
            }
            let body = json!({"key": "a", "state": "done"});
            let recorded = last.to_run(who, &run, "steps", body).await;
            assert_eq!(recorded.status, record[n], "{who} records: {recorded:?}");
            let resumed = last.to_run(who, &run, "resume", json!({})).await;
            assert_eq!(resumed.status, resume[n], "{who} resumes: {resumed:?}");
            let ended = last.to_run(who, &run, "end", json!({"status": "completed"})).await;
            assert_eq!(ended.status, end[n], "{who} ends: {ended:?}");
            let run = first.starts_own().await;
            let cancelled = last.to_run(who, &run, "cancel", json!({"reason": "x"})).await;
            assert_eq!(cancelled.status, cancel[n], "{who} cancels: {cancelled:?}");
        }
        let own = last.get("agent-b", "/v1/runs").await.json();
        assert!(own["runs"].as_array().unwrap().iter().all(|run| run["initiator"] == "agent-b"), "{own}");
        assert_eq!(own["runs"].as_array().unwrap().len(), 1);

        // Of a run that Folkmoot executes, nobody records or ends anything.
        let run = first.starts("sleeps@1", json!(null)).await;
        first.until_is(&run, "parked").await;
        for (who, status) in [("agent-a", 409), ("agent-b", 404), ("vera", 403), ("alice", 403)] {
            let recorded = last.to_run(who, &run, "steps", json!({"key": "a", "state": "begun"})).await;
            let ended = last.to_run(who, &run, "end", json!({"status": "completed"})).await;
            assert_eq!((recorded.status, ended.status), (status, status), "{who}: {recorded:?}");
        }
        let own = last.to_run("agent-a", &run, "steps", json!({"key": "a", "state": "begun"})).await;
        assert_eq!(own.code(), "not_yours");
        let exists = last.post("agent-b", "/v1/runs", json!({"id": run})).await;
        assert_eq!((exists.status, exists.code().as_str()), (409, "run_exists"));
        first.verifies().await;
    }
}
