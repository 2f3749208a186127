//! What those who run a server see of it: figures, request ids, and the page that shows the API.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use crate::{
    http,
    node::{Node, token},
};

const OPERATIONS: &str = include_str!("../../../../docs/operations.md");

/// The names of the first column of the table of figures.
fn documented() -> BTreeSet<&'static str> {
    let rows = OPERATIONS.lines().filter(|line| line.starts_with("| `folkmoot_"));
    rows.filter_map(|row| row.split('`').nth(1)).map(|name| name.split('{').next().unwrap_or(name)).collect()
}

/// The names that `/metrics` has, as their `TYPE` lines say.
async fn shown(node: &Node) -> (BTreeSet<String>, String) {
    let answer = node.get("", "/metrics").await;
    assert_eq!(answer.status, 200);
    let types = answer.body.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    (types.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect(), answer.body)
}

#[tokio::test]
async fn the_figures_that_are_documented_are_those_that_there_are() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    node.post("alice", &format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap()), json!({})).await;
    let _feed = node.client("vera").events(Some(0)).await.unwrap();
    // The log is read a moment after it was written.
    let mut found = shown(&node).await;
    for _ in 0..100 {
        if found.0.contains("folkmoot_events_total") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        found = shown(&node).await;
    }
    let (names, text) = found;
    let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let documented = documented();
    assert!(documented.len() > 15, "the table was not found: {documented:?}");
    let undocumented: Vec<_> = names.difference(&documented).collect();
    assert!(undocumented.is_empty(), "describe these in docs/operations.md: {undocumented:?}");
    // Those of models and deliveries are there once one was asked or one was made; a log is hardly
    // ever lost.
    let seldom = |name: &str| {
        ["folkmoot_model_", "folkmoot_deliver", "folkmoot_log_lost_"].iter().any(|prefix| name.starts_with(prefix))
    };
    let missing: Vec<_> = documented.difference(&names).filter(|name| !seldom(name)).collect();
    assert!(missing.is_empty(), "docs/operations.md names these, but they are not there: {missing:?}");
    let without_help: Vec<_> = names.iter().filter(|name| !text.contains(&format!("# HELP {name} "))).collect();
    assert!(without_help.is_empty(), "say in figures.rs what these are: {without_help:?}");
    for bucket in
        ["folkmoot_store_commit_seconds_bucket{le=\"0.001\"}", "folkmoot_store_batch_commands_bucket{le=\"128\"}"]
    {
        assert!(text.contains(bucket), "{bucket} is missing");
    }
    assert!(
        text.contains(r#"folkmoot_http_requests_total{method="POST",route="/v1/gates/{id}/approve",status="200"}"#)
    );
}

/// Anybody can send any word as a method, without a token.
#[tokio::test]
async fn nobody_makes_a_label_by_inventing_a_method_or_an_address() {
    let node = Node::start().await;
    assert_eq!(http::send(&node.url, "CANARYMETHOD", "/canary-address", "", &[], "").await.status, 404);
    assert_eq!(http::send(&node.url, "CANARYMETHOD", "/v1/gates", "", &[], "").await.status, 405);
    let (_, text) = shown(&node).await;
    assert!(!text.to_lowercase().contains("canary"), "{text}");
    assert!(text.contains(r#"method="other",route="none",status="404""#), "{text}");
}

#[tokio::test]
async fn a_request_has_an_id_which_is_its_callers_if_that_can_be_printed() {
    let node = Node::start().await;
    let id = |answer: &http::Answer| {
        let line = answer.head.lines().find_map(|line| line.strip_prefix("x-request-id: "));
        line.expect("each answer has one").to_owned()
    };
    let ask = |given: &'static str| {
        let url = node.url.clone();
        async move { http::send(&url, "GET", "/v1/gates/gate-nobody", &token("vera"), &[("x-request-id", given)], "").await }
    };
    let kept = ask("trace-1234.5:6@7_8").await;
    assert_eq!(id(&kept), "trace-1234.5:6@7_8");
    assert_eq!(kept.json()["request_id"], "trace-1234.5:6@7_8", "the problem says it too");
    let long: &'static str = Box::leak("x".repeat(129).into_boxed_str());
    let mut made = BTreeSet::new();
    for given in ["", "two words", "a\"quote", "<b>", "caf\u{e9}", long] {
        let answer = ask(given).await;
        assert!(id(&answer).starts_with("req-"), "{given:?}: {}", answer.head);
        assert_eq!(answer.json()["request_id"], id(&answer));
        made.insert(id(&answer));
    }
    assert_eq!(made.len(), 6, "no two have the same");
    assert!(id(&node.get("", "/healthz").await).starts_with("req-"));
}

#[tokio::test]
async fn the_api_is_shown_without_anything_from_elsewhere() {
    let node = Node::start().await;
    let answer = node.get("", "/docs/").await;
    assert_eq!((answer.status, answer.head.contains("location: /docs\r")), (308, true), "{answer:?}");
    let page = node.get("", "/docs").await;
    assert_eq!(page.status, 200);
    for (header, value) in [
        ("content-type", "text/html"),
        ("content-security-policy", "default-src 'none'; style-src 'self';"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert!(page.head.contains(&format!("{header}: {value}")), "{header} is not {value}: {}", page.head);
    }
    assert!(page.body.contains("<title>Folkmoot: the API</title>"), "{}", page.body);
    assert!(!page.body.contains("<script"), "a page without scripts");
    let document: Value = serde_json::from_str(&node.get("", "/openapi.json").await.body).unwrap();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let shown =
                format!("<b>{}</b> {path}</code> {}", method.to_uppercase(), operation["summary"].as_str().unwrap());
            assert!(page.body.contains(&shown), "{shown} is missing");
        }
    }
    let ids: HashSet<&str> = page.body.split("id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for target in page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match target.strip_prefix('#') {
            Some(id) => assert!(ids.contains(id), "{target} leads nowhere"),
            None => assert_eq!(node.get("", target).await.status, 200, "{target}"),
        }
    }
    for nowhere in ["/docs/nothing.js", "/docs/../Cargo.toml", "/docs/%2e%2e/Cargo.toml", "/docs//etc/passwd"] {
        let answer = node.get("", nowhere).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_address"), "{nowhere}");
    }
}
