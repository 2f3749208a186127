//! What a run's agent sees of what its workflow asks.

use serde_json::json;

use super::with_workflows;
use crate::{
    halting::{id, ids},
    node::everywhere_with,
};

#[tokio::test]
async fn whoever_started_a_run_reads_what_it_asks_and_nobody_elses_agent_does() {
    for nodes in everywhere_with(with_workflows).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts("asks@1", json!(null)).await;
        let parked = first.until(&run, |run| run["status"] == "parked").await;
        let question = parked["waiting_at"]["questions"][0].as_str().unwrap().to_owned();
        assert_eq!(last.question("agent-a", &question).await["run_id"], json!(run));
        let list = format!("/v1/questions?run={run}");
        assert_eq!(ids(&last.get("agent-a", &list).await.json()["questions"]), [question.as_str()]);
        assert_eq!(ids(&last.get("vera", &list).await.json()["questions"]), [question.as_str()]);
        assert_eq!(last.get("agent-b", &list).await.json()["questions"], json!([]));
        let unseen = last.get("agent-b", &format!("/v1/questions/{question}")).await;
        assert_eq!((unseen.status, unseen.code().as_str()), (404, "unknown_question"));
        let own = last.closes("agent-a", &question, "answer", json!({"answer": "red"})).await;
        assert_eq!((own.status, own.code().as_str()), (403, "role_may_not"), "to read is not to answer");
        last.answers(&question, "blue").await;
        let ended = first.until_is(&run, "completed").await;
        assert_eq!(ended["ending"]["output"], "blue");

        let publishing = first.starts("publish@1", json!("x")).await;
        let gate = first.gate_of(&publishing).await;
        let gates = format!("/v1/gates?run={publishing}");
        assert_eq!(ids(&last.get("agent-a", &gates).await.json()["gates"]), [gate.as_str()]);
        assert_eq!(last.get("agent-b", &gates).await.json()["gates"], json!([]));
        assert_eq!(last.get("agent-a", &format!("/v1/gates/{gate}")).await.status, 200);
        assert_eq!(last.get("agent-b", &format!("/v1/gates/{gate}")).await.status, 404);
    }
}

#[tokio::test]
async fn a_question_names_only_a_run_of_its_asker() {
    for nodes in everywhere_with(with_workflows).await {
        let node = nodes.last().unwrap();
        let run = node.starts_own().await;
        let question = |run: &str| json!({"type": "ALERT", "text": "?", "run_id": run});
        let unknown = node.post("agent-a", "/v1/questions", question("nobody")).await;
        assert_eq!((unknown.status, unknown.code().as_str()), (404, "unknown_run"));
        let theirs = node.post("agent-b", "/v1/questions", question(&run)).await;
        assert_eq!((theirs.status, theirs.code().as_str()), (403, "not_your_run"));
        let mut elsewhere = question(&run);
        elsewhere["session_id"] = json!("another");
        assert_eq!(node.post("agent-a", "/v1/questions", elsewhere).await.code(), "invalid");
        let asked = node.asked(question(&run)).await;
        assert_eq!(
            node.get("vera", &format!("/v1/questions?run={run}")).await.json()["questions"][0]["id"],
            id(&asked)
        );
    }
}
