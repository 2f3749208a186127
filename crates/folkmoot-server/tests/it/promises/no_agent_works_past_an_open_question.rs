//! No agent works past an open question: not after a restart, on another node, by waiting, by
//! looking, by asking again.

use std::time::Duration;

use serde_json::json;

use crate::{
    halting::{covered, ended, settles},
    node::{Node, Setting, postgres},
};

#[tokio::test]
async fn no_agent_works_past_an_open_question() {
    let mut settings = vec![Setting::default()];
    settings.extend(postgres().await);
    for setting in settings {
        let mut node = Node::with(setting.clone()).await;
        let question = node.asks("agent-a", "s1", "APPROVAL").await;
        for _ in 0..3 {
            node = Node::on(node.stop().await, setting.clone()).await;
            for (agent, session) in [("agent-a", "s1"), ("agent-a", ""), ("agent-a", "s2"), ("agent-b", "s1")] {
                let nodes = std::slice::from_ref(&node);
                covered(nodes, agent, session, &[&question]).await;
                ended(&node.waited(agent, session, 20).await, false, "timeout", &[]);
            }
            assert!(node.can_proceed("agent-b", "s2").await, "and nobody else is held");
            for (verb, body) in [
                ("answer", json!({"answer": "approve"})),
                ("deny", json!({})),
                ("skip", json!({})),
                ("cancel", json!({})),
            ] {
                assert_eq!(node.closes("agent-a", &question, verb, body).await.status, 403, "{verb}");
            }
            assert_eq!(node.delete("agent-a", &format!("/v1/questions/{question}")).await.status, 405);
            assert_eq!(node.delete("agent-a", &format!("/v1/halts/{question}")).await.status, 404);
            let another = node.asks("agent-a", "s1", "APPROVAL").await;
            node.answers(&another, "approve").await;
            covered(std::slice::from_ref(&node), "agent-a", "s1", &[&question]).await;
        }
        let data = node.stop().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let node = Node::on(data, setting).await;
        let waiting = node.waiting("agent-b", "s1", 20_000).await;
        node.answers(&question, "approve").await;
        ended(&waiting.await.unwrap(), true, "answered", &[(&question, json!("approve"))]);
        settles(std::slice::from_ref(&node), "agent-a", "s1", true).await;
        node.verifies().await;
    }
}

/// While the server is down nobody is cleared, and a default that fell due meanwhile applies once
/// it is up.
#[tokio::test]
async fn a_default_that_fell_due_while_the_server_was_down_applies_when_it_is_up() {
    let mut settings = vec![Setting::default()];
    settings.extend(postgres().await);
    for setting in settings {
        let node = Node::with(setting.clone()).await;
        let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "default": "main", "timeout_ms": 200});
        let question = crate::halting::id(&node.asked(body).await);
        let data = node.stop().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let node = Node::on(data, setting).await;
        ended(&node.waited("a1", "", 20_000).await, true, "default", &[(&question, json!("main"))]);
        node.verifies().await;
    }
}
