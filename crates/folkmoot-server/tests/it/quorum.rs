//! Who counts in a quorum: people, each once, whatever tokens they have. A token that was revoked
//! says nothing any more; what was said with it before stands, because it was a person's word, and
//! is in the log.

use serde_json::{Value, json};

use crate::{
    http::{self, Answer},
    node::{Node, everywhere, token},
};

#[tokio::test]
async fn one_person_counts_once_and_a_revoked_token_says_nothing_any_more() {
    for nodes in everywhere().await {
        let (here, there) = (&nodes[0], nodes.last().unwrap());
        let (first, second) = (made(here, "dora").await, made(here, "dora").await);
        let zoe = made(here, "zoe").await;
        let opened = here.opened(json!({"summary": "Deploy", "quorum": 3})).await;
        let path = format!("/v1/gates/{}", opened["id"].as_str().unwrap());
        let voters = async |node: &Node| {
            let gate = node.get("vera", &path).await.json();
            let votes = gate["votes"].as_array().map_or(&[][..], Vec::as_slice);
            votes.iter().map(|vote| vote["reviewer"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };

        // Two tokens, one person; on whichever node.
        assert_eq!(approve(here, &path, &first.secret).await.status, 200);
        for node in &nodes {
            let again = until(async || approve(node, &path, &second.secret).await, |answer| answer.status != 401).await;
            assert_eq!((again.status, again.code()), (409, "already_voted".to_owned()));
        }
        assert_eq!(voters(here).await, ["dora"]);

        // A token that is revoked before it has said anything counts nowhere; the person's other
        // one still would.
        revoke(here, &zoe.id).await;
        revoke(here, &first.id).await;
        for node in &nodes {
            for secret in [&zoe.secret, &first.secret] {
                // Another node hears of it a moment later, so it is not tempted before that.
                let looks = async || http::send(&node.url, "GET", &path, secret, &[], "").await;
                until(looks, |answer| answer.status == 401).await;
                assert_eq!(approve(node, &path, secret).await.status, 401);
            }
        }
        assert_eq!(voters(there).await, ["dora"], "what was said before stands, and nothing was added");

        // Three people, none of them twice, and not one less.
        assert_eq!(there.post("alice", &format!("{path}/approve"), json!({})).await.json()["status"], "pending");
        let decided = there.post("bob", &format!("{path}/approve"), json!({})).await.json();
        let votes = decided["decision"]["votes"].as_array().expect("votes").iter();
        let counted: Vec<_> = votes.map(|vote| vote["reviewer"].as_str().expect("a name")).collect();
        assert_eq!((decided["status"].as_str(), counted), (Some("approved"), vec!["dora", "alice", "bob"]));
        assert_eq!(approve(there, &path, &second.secret).await.code(), "gate_decided");
        here.verifies().await;
    }
}

/// Whoever does not trust what was said with a token that leaked has the content sent again: on
/// that nothing was said.
#[tokio::test]
async fn an_amendment_takes_back_what_was_said_with_a_token_that_leaked() {
    let node = Node::start().await;
    let leaked = made(&node, "dora").await;
    let opened = node.opened(json!({"summary": "Deploy", "quorum": 2})).await;
    let path = format!("/v1/gates/{}", opened["id"].as_str().unwrap());
    assert_eq!(approve(&node, &path, &leaked.secret).await.json()["votes"].as_array().map(Vec::len), Some(1));
    revoke(&node, &leaked.id).await;
    let body = json!({"summary": "Deploy, after a token leaked"}).to_string();
    let amended = http::send(&node.url, "PATCH", &path, &token("agent-a"), &[], &body).await.json();
    assert_eq!((&amended["revision"], &amended["status"]), (&json!(2), &json!("pending")));
    let seen = json!({"digest": amended["digest"]});
    let alone = node.post("alice", &format!("{path}/approve"), seen.clone()).await.json();
    assert_eq!(alone["status"], "pending", "one of two");
    assert_eq!(node.post("bob", &format!("{path}/approve"), seen).await.json()["status"], "approved");
}

struct Made {
    id: String,
    secret: String,
}

async fn made(node: &Node, name: &str) -> Made {
    let made = node.post("root-of-all", "/v1/tokens", json!({"name": name, "role": "reviewer"})).await.json();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    Made { id: text(&made["id"]), secret: text(&made["token"]) }
}

async fn revoke(node: &Node, id: &str) {
    let gone = http::send(&node.url, "DELETE", &format!("/v1/tokens/{id}"), &token("root-of-all"), &[], "").await;
    assert!(gone.json()["revoked_at"].is_string());
}

async fn approve(node: &Node, path: &str, secret: &str) -> Answer {
    http::send(&node.url, "POST", &format!("{path}/approve"), secret, &[], "{}").await
}

/// Other nodes hear of a token a moment later.
async fn until(ask: impl AsyncFn() -> Answer, is: impl Fn(&Answer) -> bool) -> Answer {
    for _ in 0..200 {
        let answer = ask().await;
        if is(&answer) {
            return answer;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it did not come true in two seconds");
}
