//! Who may ask, answer, halt and lift; and who sees what.

use serde_json::{Value, json};

use crate::{
    halting::{covered, id, ids, kinds, settles},
    node::{Node, everywhere},
};

fn refused<'a>(log: &'a [Value], kind: &str) -> Vec<&'a Value> {
    log.iter().filter(|entry| entry["type"] == kind).collect()
}

#[tokio::test]
async fn a_viewer_asks_answers_halts_and_lifts_nothing() {
    let node = Node::start().await;
    let question = node.asks("a1", "", "BLOCKING").await;
    let halt = node.halts(json!({"scope": "agent", "agent_id": "a1"})).await;
    let asked = node.post("vera", "/v1/questions", json!({"type": "ALERT", "text": "?"})).await;
    assert_eq!((asked.status, asked.code().as_str()), (403, "role_may_not"));
    for (verb, body) in
        [("answer", json!({"answer": "x"})), ("deny", json!({})), ("skip", json!({})), ("cancel", json!({}))]
    {
        let answer = node.closes("vera", &question, verb, body).await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{verb}");
    }
    let raised = node.post("vera", "/v1/halts", json!({"scope": "all", "reason": "x"})).await;
    assert_eq!((raised.status, raised.code().as_str()), (403, "role_may_not"));
    let lifted = node.delete("vera", &format!("/v1/halts/{halt}")).await;
    assert_eq!((lifted.status, lifted.code().as_str()), (403, "role_may_not"));
    assert_eq!(node.blockers("a1", "").await, [question, halt]);
    node.verifies().await;
}

#[tokio::test]
async fn no_agent_answers_and_every_attempt_is_in_the_log() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = first.asks("agent-a", "s1", "APPROVAL").await;
        for who in ["agent-a", "agent-b", "monitor"] {
            for (verb, body) in [("answer", json!({"answer": "approve"})), ("deny", json!({}))] {
                let answer = last.closes(who, &question, verb, body).await;
                assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{who} {verb}");
            }
        }
        for verb in ["skip", "cancel"] {
            let own = last.closes("agent-a", &question, verb, json!({})).await;
            assert_eq!((own.status, own.code().as_str()), (403, "halts_asker"), "{verb}");
            let other = last.closes("agent-b", &question, verb, json!({})).await;
            assert_eq!((other.status, other.code().as_str()), (403, "role_may_not"), "{verb}");
        }
        let log = first.log("vera").await;
        let attempts = refused(&log, "question.refused");
        assert_eq!(attempts.len(), 10, "every attempt is in the log");
        for attempt in attempts {
            assert_eq!(attempt["stream"], question.as_str());
            assert!(["agent-a", "agent-b", "monitor"].contains(&attempt["actor"].as_str().unwrap()));
            assert!(attempt["payload"]["attempted"].is_string() && attempt["payload"]["code"].is_string());
        }
        covered(&nodes, "a2", "s1", &[&question]).await;
        first.verifies().await;
    }
}

#[tokio::test]
async fn nobody_answers_what_they_asked_themselves() {
    let node = Node::start().await;
    for who in ["alice", "root-of-all"] {
        let body = json!({"agent_id": "a1", "type": "APPROVAL", "text": "?"});
        let question = id(&node.post(who, "/v1/questions", body).await.json());
        for (verb, body) in [("answer", json!({"answer": "approve"})), ("deny", json!({}))] {
            let answer = node.closes(who, &question, verb, body).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "own_question"), "{who} {verb}");
        }
        for verb in ["skip", "cancel"] {
            let answer = node.closes(who, &question, verb, json!({})).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "halts_asker"), "{who} {verb}");
        }
        assert_eq!(node.closes("bob", &question, "answer", json!({"answer": "approve"})).await.status, 200);
    }
    let plain = id(&node.post("agent-b", "/v1/questions", json!({"type": "PREFERENCE", "text": "?"})).await.json());
    assert_eq!(node.closes("agent-a", &plain, "cancel", json!({})).await.code(), "role_may_not");
    let withdrawn = node.closes("agent-b", &plain, "cancel", json!({})).await;
    assert_eq!((withdrawn.status, &withdrawn.json()["status"]), (200, &json!("cancelled")), "it halts nobody");
    node.verifies().await;
}

#[tokio::test]
async fn admins_and_monitors_halt_and_only_admins_lift() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let body = json!({"scope": "all", "reason": "stop"});
        for who in ["alice", "agent-a", "agent-b", "vera"] {
            let answer = first.post(who, "/v1/halts", body.clone()).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{who}");
        }
        settles(&nodes, "a1", "", true).await;
        let halt = id(&first.post("monitor", "/v1/halts", body).await.json());
        covered(&nodes, "a1", "", &[&halt]).await;
        let path = format!("/v1/halts/{halt}");
        for who in ["monitor", "alice", "agent-a", "vera"] {
            let answer = last.delete(who, &path).await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "role_may_not"), "{who}");
        }
        covered(&nodes, "a1", "", &[&halt]).await;
        let lifted = last.lifts(&halt).await;
        assert_eq!((&lifted["lifted_by"], &lifted["raised_by"]), (&json!("root-of-all"), &json!("monitor")));
        let again = first.delete("root-of-all", &path).await;
        assert_eq!((again.status, again.code().as_str()), (409, "halt_lifted"));
        assert!(again.json()["detail"].as_str().unwrap().contains("root-of-all"), "it says who lifted it");
        let log = first.log("vera").await;
        let attempts = refused(&log, "halt.refused");
        let who: Vec<_> = attempts.iter().map(|attempt| attempt["actor"].as_str().unwrap()).collect();
        let expected = ["alice", "agent-a", "agent-b", "vera", "monitor", "alice", "agent-a", "vera", "root-of-all"];
        assert_eq!(who, expected, "every attempt is in the log, with who made it");
        first.verifies().await;
    }
}

#[tokio::test]
async fn an_agent_sees_its_own_questions_and_halts_and_what_stops_everyone() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let theirs = first.asks("agent-a", "s1", "APPROVAL").await;
        let on_theirs = first.halts(json!({"scope": "agent", "agent_id": "agent-a"})).await;
        let own = id(&first.post("agent-b", "/v1/questions", json!({"type": "BLOCKING", "text": "?"})).await.json());
        let spoken = first.asks("agent-b", "", "ESCALATION").await;
        let all = first.halts(json!({"scope": "all"})).await;
        covered(&nodes, "agent-b", "", &[&own, &spoken, &all]).await;
        let unseen = last.get("agent-b", &format!("/v1/questions/{theirs}")).await;
        assert_eq!((unseen.status, unseen.code().as_str()), (404, "unknown_question"));
        let unseen = last.get("agent-b", &format!("/v1/questions/{theirs}/wait?timeout_ms=1")).await;
        assert_eq!((unseen.status, unseen.code().as_str()), (404, "unknown_question"));
        let mut listed = ids(&last.get("agent-b", "/v1/questions").await.json()["questions"]);
        listed.sort();
        let mut expected = vec![own.clone(), spoken.clone()];
        expected.sort();
        assert_eq!(listed, expected);
        let status = last.halt_status("agent-b").await;
        assert_eq!((&status["halted_agents"], &status["halted_sessions"]), (&json!(["agent-b"]), &json!([])));
        assert_eq!(ids(&status["held_by"]["system"]), [all.as_str()]);
        let everything = last.halt_status("vera").await;
        assert_eq!(everything["halted_agents"], json!(["agent-a", "agent-b"]));
        assert_eq!(ids(&everything["held_by"]["agents"]["agent-a"]), [theirs.as_str(), on_theirs.as_str()]);
        let seen = last.log("agent-b").await;
        assert!(seen.iter().all(|entry| entry["stream"] != theirs.as_str() && entry["stream"] != on_theirs.as_str()));
        let kinds = kinds(&seen);
        assert!(kinds.contains(&"system.halted".to_owned()), "{kinds:?}");
    }
}

/// An agent that waits in another's name must not be told what was answered to it.
#[tokio::test]
async fn an_agent_is_not_told_answers_to_questions_it_may_not_see() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let question = id(&first.asked(json!({"type": "BLOCKING", "text": "the password?"})).await);
        covered(&nodes, "agent-a", "", &[&question]).await;
        let url = last.url.clone();
        let spying = tokio::spawn(async move { crate::halting::waited(&url, "agent-b", "agent-a", "", 20_000).await });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        first.answers(&question, "swordfish").await;
        let told = spying.await.unwrap().to_string();
        let later = crate::halting::waited(&last.url, "agent-b", "agent-a", "", 20_000).await.to_string();
        assert!(!later.contains("swordfish"), "{later}");
        assert!(!told.contains("swordfish"), "a later wait does not say it, and one that was there does: {told}");
    }
}

/// As with gates.
#[tokio::test]
async fn no_agent_asks_in_a_persons_name() {
    let node = Node::start().await;
    let body = json!({"agent_id": "bob", "session_id": "s1", "type": "APPROVAL", "text": "may I?"});
    let refused = node.post("agent-a", "/v1/questions", body).await;
    assert_eq!((refused.status, refused.code().as_str()), (403, "names_person"), "{refused:?}");
}
