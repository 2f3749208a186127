//! Lessons: listed, corrected and removed.

use folkmoot_debate::{
    AgentRole, DebatePhase, Domain,
    agent::Share,
    record::{DebateRecord, LessonRecord, TurnRecord, uuid},
};
use folkmoot_engine::{Ctx, Failure, Workflows};
use serde_json::{Value, json};

use super::{AGENT, ALICE, ok, over, refused, start_as};
use crate::node::{Node, Setting, everywhere_with};

const ADMIN: &str = "root-of-all";

/// Stands in for a debate that learnt something in a rehearsal: it needs no jail.
pub async fn teach(ctx: Ctx, (): ()) -> Result<(), Failure> {
    let run = ctx.run_id().to_string();
    let turn = TurnRecord {
        id: uuid(&[&run, "turn"]),
        round: 1,
        phase: DebatePhase::Proposal,
        agent_id: "proposer-1".parse().unwrap(),
        agent_role: AgentRole::Proposer,
        provider: "rehearsal".to_owned(),
        model: "rehearsal".to_owned(),
        content: "Tests can wait.".to_owned(),
        confidence: None,
        tool_calls: Value::Null,
        test_results: Value::Null,
        reflections: Value::Null,
        metadata: Value::Null,
        response_time_ms: 1,
    };
    let learned = LessonRecord {
        id: uuid(&[&run, "lesson"]),
        domain: Domain::Code,
        language: None,
        root_cause: "no tests were written".to_owned(),
        lesson: format!("write tests last ({run})"),
        confidence: Share::ONE,
        tags: vec!["tests".to_owned()],
        rehearsed: true,
    };
    ctx.keep(
        "learnt",
        "debate.learnt",
        &json!({}),
        vec![DebateRecord::Turn(Box::new(turn)), DebateRecord::Lesson(learned)],
    )
    .await
}

pub async fn lesson(node: &Node) -> Value {
    let started = node.post(AGENT, "/v1/runs", json!({ "workflow": "debate@998" })).await.json();
    let id = started["id"].as_str().unwrap();
    ok(node.get(ALICE, &format!("/v1/runs/{id}/wait?timeout_ms=60000")).await);
    let list = ok(node.get(ALICE, "/v1/lessons").await);
    list["lessons"].as_array().unwrap().iter().find(|lesson| lesson["debate_id"] == id).unwrap().clone()
}

/// All that the agents of a new debate of [`AGENT`] are asked.
async fn prompts(node: &Node) -> String {
    let id = start_as(node, AGENT, json!({ "answers": 1 })).await;
    over(node, &id).await;
    ok(node.get(ALICE, &format!("/v1/debates/{id}/audit?type=prompt_sent&limit=500")).await).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_admin_corrects_and_removes_a_lesson_and_later_debates_see_what_stands() {
    let workflows = || Workflows::new().with("debate@998", teach);
    for nodes in everywhere_with(|| Setting { workflows: workflows(), ..Setting::default() }).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let learnt = lesson(first).await;
        let path = format!("/v1/lessons/{}", learnt["id"].as_str().unwrap());
        assert!(prompts(first).await.contains("write tests last"));

        let body = json!({ "lesson": "write tests first", "reason": "it was the wrong way round" });
        for who in [ALICE, AGENT, "vera"] {
            assert_eq!(refused(&first.send(who, "PATCH", &path, body.clone()).await), (403, "role_may_not".into()));
        }
        assert_eq!(first.send("agent-b", "PATCH", &path, body.clone()).await.code(), "unknown_lesson");
        let unknown = first.send(ADMIN, "PATCH", "/v1/lessons/nothing", body.clone()).await;
        assert_eq!(refused(&unknown), (404, "unknown_lesson".into()));
        for bad in [json!({ "lesson": " ", "reason": "x" }), json!({ "lesson": "x", "reason": "" }), json!({})] {
            assert_eq!(first.send(ADMIN, "PATCH", &path, bad).await.code(), "invalid");
        }

        let debate = ok(first.get(ALICE, &format!("/v1/runs/{}", learnt["debate_id"].as_str().unwrap())).await);
        let corrected = ok(first.send(ADMIN, "PATCH", &path, body.clone()).await);
        assert_eq!(corrected["lesson"], "write tests first");
        let untouched = |lesson: &Value| {
            let mut lesson = lesson.clone();
            let fields = lesson.as_object_mut().unwrap();
            fields.retain(|name, _| name != "lesson" && name != "digest");
            lesson
        };
        assert_eq!(untouched(&corrected), untouched(&learnt));
        assert_eq!(ok(last.get(AGENT, "/v1/lessons").await)["lessons"], json!([corrected]));
        let after = ok(first.get(ALICE, &format!("/v1/runs/{}", learnt["debate_id"].as_str().unwrap())).await);
        assert_eq!((&after["status"], &after["ended_at"]), (&debate["status"], &debate["ended_at"]));
        let asked = prompts(last).await;
        assert!(asked.contains("write tests first") && !asked.contains("write tests last"), "{asked}");

        let log = ok(last.get(ALICE, "/v1/audit?limit=1000").await);
        let entries = log["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["type"] == "debate.lesson_corrected").unwrap();
        let payload: Value = serde_json::from_str(entry["payload"].as_str().unwrap()).unwrap();
        assert_eq!((&entry["actor"], &payload["lesson"]), (&json!(ADMIN), &learnt["id"]));
        assert_eq!(payload["reason"], "it was the wrong way round");
        let contents = payload["records"][0]["contents"].as_array().unwrap();
        assert!(contents.contains(&corrected["digest"]), "{payload}");
        last.verifies().await;

        // Once more, and away with it.
        let again = json!({ "lesson": "write a test first", "reason": "one will do" });
        let again = ok(last.send(ADMIN, "PATCH", &path, again).await);
        let artifact = format!("/v1/artifacts/{}", again["digest"].as_str().unwrap());
        let why = json!({ "reason": "it holds no longer" });
        assert_eq!(refused(&first.send(ALICE, "DELETE", &artifact, why.clone()).await).1, "role_may_not");
        ok(first.send(ADMIN, "DELETE", &artifact, why).await);
        assert_eq!(ok(last.get(ALICE, "/v1/lessons").await)["lessons"], json!([]));
        assert_eq!(first.send(ADMIN, "PATCH", &path, body).await.code(), "unknown_lesson");
        assert!(!prompts(last).await.contains("An earlier debate taught this"));
        for node in [first, last] {
            node.verifies().await;
        }
    }
}
