//! The log is hash-chained; a command verifies it and compares every row with what the log says it
//! should be.

use std::path::Path;

use folkmoot_core::gate::Choice;

use crate::node::{Node, Setting};

async fn a_past() -> tempfile::TempDir {
    let node = Node::start().await;
    for n in 0..5 {
        let gate = node.open(&format!("gate {n}")).await;
        if n % 2 == 0 {
            node.say("alice", &gate, Choice::Approve).await.unwrap();
        }
    }
    node.verifies().await;
    node.stop().await
}

async fn tampered(change: &str) -> Vec<String> {
    let data = a_past().await;
    let changed = sqlite(data.path(), change);
    assert!(changed > 0, "{change} changed nothing");
    let node = Node::on(data, Setting::default()).await;
    let found = node.client("vera").verify().await.unwrap();
    assert!(!found.ok, "{change} was not found");
    found.problems.into_iter().map(|problem| format!("{}: {}", problem.at, problem.problem)).collect()
}

fn sqlite(data: &Path, change: &str) -> usize {
    rusqlite::Connection::open(data.join("folkmoot.db")).unwrap().execute(change, []).unwrap()
}

#[tokio::test]
async fn it_can_be_checked() {
    let changed =
        tampered("UPDATE events SET payload = replace(payload, 'gate 1', 'gate 7') WHERE payload LIKE '%gate 1%'")
            .await;
    assert!(changed.iter().any(|problem| problem.contains("it was changed")), "{changed:?}");
    let removed = tampered("DELETE FROM events WHERE position = (SELECT max(position) - 3 FROM events)").await;
    assert!(removed.iter().any(|problem| problem.contains("is missing")), "{removed:?}");
    let tail = tampered("DELETE FROM events WHERE position = (SELECT max(position) FROM events)").await;
    assert!(tail.iter().any(|problem| problem.contains("head")), "{tail:?}");
    let row = tampered("UPDATE gates SET title = 'harmless' WHERE status = 'pending'").await;
    assert!(row.iter().any(|problem| problem.contains("disagrees with the log")), "{row:?}");
    let status = tampered("UPDATE gates SET status = 'approved' WHERE status = 'pending'").await;
    assert!(
        status.iter().any(|problem| problem.contains("cannot be read") || problem.contains("disagrees")),
        "{status:?}"
    );
    let reviewer =
        tampered("UPDATE gates SET decision = replace(decision, 'alice', 'mallory') WHERE status = 'approved'").await;
    assert!(reviewer.iter().any(|problem| problem.contains("mallory")), "{reviewer:?}");
    let shown = tampered("UPDATE artifacts SET content = CAST('something else' AS BLOB)").await;
    assert!(shown.iter().any(|problem| problem.contains("this content was changed")), "{shown:?}");
    let raised = tampered("UPDATE tokens SET created_by = 'mallory' WHERE name = 'agent-b'").await;
    assert!(raised.iter().any(|problem| problem.contains("token:")), "{raised:?}");
    let gone = tampered("DELETE FROM gates WHERE status = 'pending'").await;
    assert!(gone.iter().any(|problem| problem.contains("its row is gone")), "{gone:?}");
}

/// What holds agents is only rows: whoever changes one to set them free is found.
#[tokio::test]
async fn a_question_or_halt_that_was_changed_behind_our_back_is_found() {
    for change in [
        "UPDATE questions SET holds = NULL WHERE status = 'pending' AND halts = 'session'",
        "UPDATE questions SET halts = NULL, holds = NULL WHERE status = 'pending' AND halts = 'session'",
        "UPDATE questions SET agent_id = 'other' WHERE status = 'pending'",
        "UPDATE questions SET session_id = 'other' WHERE status = 'pending'",
        "UPDATE questions SET default_answer = '\"approve\"' WHERE status = 'pending'",
        "UPDATE questions SET due = due - 1000000 WHERE status = 'pending'",
        "UPDATE questions SET closure = replace(closure, 'alice', 'mallory') WHERE status = 'answered'",
        "UPDATE questions SET closure = replace(closure, 'deny', 'approve') WHERE status = 'denied'",
        "UPDATE questions SET text_digest = (SELECT text_digest FROM questions WHERE status = 'answered') WHERE status = 'pending'",
        "DELETE FROM questions WHERE status = 'pending'",
        "UPDATE halts SET lifted_at = raised_at, lifted_by = 'root-of-all' WHERE lifted_at IS NULL",
        "UPDATE halts SET session_id = 'other' WHERE lifted_at IS NULL",
        "UPDATE halts SET reason = 'harmless' WHERE lifted_at IS NULL",
        "UPDATE halts SET raised_by = 'mallory'",
        "DELETE FROM halts WHERE lifted_at IS NULL",
        "DELETE FROM events WHERE type = 'halt.lifted'",
        "UPDATE events SET payload = replace(payload, 'approve', 'deny') WHERE type = 'question.answered'",
    ] {
        let node = Node::start().await;
        node.asks("a1", "s1", "APPROVAL").await;
        let other = serde_json::json!({"agent_id": "a2", "session_id": "s2", "type": "APPROVAL", "text": "and I?"});
        let answered = crate::halting::id(&node.asked(other).await);
        node.answers(&answered, "approve").await;
        let denied = node.asks("a3", "", "APPROVAL").await;
        node.says(&denied, "deny").await;
        node.halts(serde_json::json!({"scope": "session", "session_id": "s3"})).await;
        let lifted = node.halts(serde_json::json!({"scope": "all"})).await;
        node.lifts(&lifted).await;
        node.verifies().await;
        let data = node.stop().await;
        assert!(sqlite(data.path(), change) > 0, "{change} changed nothing");
        let node = Node::on(data, Setting::default()).await;
        let found = node.client("vera").verify().await.unwrap();
        assert!(!found.ok, "{change} was not found");
    }
}
