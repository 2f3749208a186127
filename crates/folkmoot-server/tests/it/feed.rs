//! The feed.

use std::{sync::Arc, time::Duration};

use folkmoot_api::wire::{OpenGate, Verdict};
use folkmoot_core::gate::Choice;
use futures_util::StreamExt;
use tokio::task::JoinSet;

use crate::node::{Node, everywhere};

/// So many who each open three gates, one after another, and have them approved.
pub fn writers(nodes: &Arc<Vec<Node>>, count: usize) -> JoinSet<()> {
    let write = |writer: usize| {
        let nodes = nodes.clone();
        async move {
            let node = &nodes[writer % nodes.len()];
            for n in 0..3 {
                let open = OpenGate { summary: format!("{writer} {n}"), ..OpenGate::default() };
                let gate = node.client("agent-a").open_gate(&open, None).await.expect("it opens");
                let decided = node.client("alice").decide(&gate.id, Choice::Approve, &Verdict::default(), None).await;
                decided.expect("it is approved");
            }
        }
    };
    (0..count).map(write).collect()
}

/// A subscriber that drops its connection every few events and comes back with its position, while
/// hundreds of writers commit, sees every event exactly once and in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_comes_back_with_its_position_misses_nothing() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let mut writers = writers(&nodes, 200);
        let mut position = 0;
        let mut drops = 0;
        let mut seen = Vec::new();
        let mut written = false;
        loop {
            // Another node each time: one number is the position on all of them.
            let node = &nodes[drops % nodes.len()];
            let mut feed = Box::pin(node.client("vera").events(Some(position)).await.unwrap());
            drops += 1;
            for _ in 0..97 {
                let Ok(event) = tokio::time::timeout(Duration::from_millis(500), feed.next()).await else { break };
                let event = event.expect("the stream goes on").expect("an event");
                position = event.position;
                seen.push((event.position, event.kind));
            }
            if !written && writers.is_empty() {
                written = true;
            }
            while let Some(done) = writers.try_join_next() {
                done.unwrap();
            }
            let decided = seen.iter().filter(|(_, kind)| kind == "gate.decided").count();
            if writers.is_empty() && decided == 600 {
                break;
            }
            assert!(
                drops < 200,
                "after {} events and {drops} connections {decided} of 600 decisions were seen",
                seen.len()
            );
        }
        let positions: Vec<u64> = seen.iter().map(|(position, _)| *position).collect();
        assert_eq!(positions, (1..=positions.len() as u64).collect::<Vec<_>>(), "dense, in order, once");
        assert!(drops > 5, "it was hardly ever dropped");
        nodes[0].verifies().await;
    }
}

#[tokio::test]
async fn a_new_subscriber_begins_now_and_agents_see_their_own() {
    let node = Node::start().await;
    node.open("before").await;
    let mut all = Box::pin(node.client("vera").events(None).await.unwrap());
    let mut theirs = Box::pin(node.client("agent-b").events(Some(0)).await.unwrap());
    let gate = node.open("after").await;
    let event = all.next().await.unwrap().unwrap();
    assert_eq!((event.kind.as_str(), event.stream.as_str()), ("gate.opened", gate.id.as_str()));
    let open = OpenGate { summary: "theirs".to_owned(), ..OpenGate::default() };
    let own = node.client("agent-b").open_gate(&open, None).await.unwrap();
    assert_eq!(theirs.next().await.unwrap().unwrap().stream, own.id.as_str(), "and nothing of agent-a's before it");
}

#[tokio::test]
async fn a_revoked_token_ends_its_stream() {
    let node = Node::start().await;
    let made =
        node.post("root-of-all", "/v1/tokens", serde_json::json!({"name": "eve", "role": "viewer"})).await.json();
    let eve = folkmoot_api::Client::new(&node.url, made["token"].as_str().unwrap()).unwrap();
    let mut feed = Box::pin(eve.events(None).await.unwrap());
    let admin = node.client("root-of-all");
    admin.revoke_token(&made["id"].as_str().unwrap().parse().unwrap()).await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(120), feed.next()).await.expect("the stream ends");
    assert!(ended.is_none_or(|event| event.is_err()), "eve still reads");
}
