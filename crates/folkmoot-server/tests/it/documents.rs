//! What the server says about itself.

use serde_json::json;

use crate::node::Node;

#[test]
fn the_openapi_document_is_as_it_was() {
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let paths = document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values());
    let mut ids: Vec<_> = paths.filter_map(|operation| operation["operationId"].as_str()).collect();
    ids.sort_unstable();
    let all = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), all, "each operation has a name of its own: {ids:?}");
    insta::assert_json_snapshot!("openapi", document);
}

#[tokio::test]
async fn health_readiness_metrics_and_openapi_need_no_token() {
    let node = Node::start().await;
    let gate = node.opened(json!({"summary": "x"})).await;
    node.post("alice", &format!("/v1/gates/{}/approve", gate["id"].as_str().unwrap()), json!({})).await;
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(crate::http::send(&node.url, "GET", path, "", &[], "").await.status, 200, "{path}");
    }
    let metrics = crate::http::send(&node.url, "GET", "/metrics", "", &[], "").await.body;
    for name in [
        "folkmoot_gates_pending",
        "folkmoot_runs_active",
        "folkmoot_steps_in_flight",
        "folkmoot_http_requests_total",
        "folkmoot_events_total",
        "folkmoot_log_position",
    ] {
        assert!(metrics.contains(name), "{name} is missing in\n{metrics}");
    }
}
