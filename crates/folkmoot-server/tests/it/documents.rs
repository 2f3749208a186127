//! What the server says about itself.

use serde_json::{Value, json};

use crate::{halting::id, node::Node, runs::with_workflows};

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

fn described(schema: &str) -> Value {
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    document["components"]["schemas"][schema].clone()
}

/// What a schema says, here or where it refers to.
fn resolved(schema: &Value) -> Value {
    match schema["$ref"].as_str() {
        Some(reference) => described(reference.strip_prefix("#/components/schemas/").unwrap()),
        None => schema.clone(),
    }
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
        match value {
            Value::Object(fields) => {
                found.extend(fields.get_key_value("$ref").map(|_| value));
                fields.values().for_each(|field| references(field, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    found.sort_by_key(|reference| reference["$ref"].to_string());
    found.dedup_by_key(|reference| reference["$ref"].to_string());
    assert!(found.len() > 150, "only {} references were found", found.len());
    for reference in found {
        assert!(resolved(reference).is_object(), "{reference} leads nowhere");
    }
}

/// Every word that a request can say, by what the document lists.
fn words(schema: &str, field: &str) -> Vec<String> {
    let property = described(schema)["properties"][field].clone();
    let either = property["oneOf"].as_array().cloned().unwrap_or_else(|| vec![property.clone()]);
    let listed = either.iter().find_map(|each| resolved(each)["enum"].as_array().cloned());
    let listed = listed.unwrap_or_else(|| panic!("{schema}.{field}"));
    listed.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn every_word_that_the_document_lists_for_a_request_is_taken() {
    let node = Node::with(with_workflows()).await;
    let mut taken = 0;
    for (schema, field, path) in [
        ("OpenGate", "kind", "/v1/gates"),
        ("OpenGate", "risk", "/v1/gates"),
        ("OpenGate", "on_timeout", "/v1/gates"),
        ("OpenGate", "self_review", "/v1/gates"),
        ("Amend", "risk", "/v1/gates/{gate}"),
        ("Decide", "decision", "/v1/gates/{gate}/decide"),
        ("Ask", "type", "/v1/questions"),
        ("Ask", "halts", "/v1/questions"),
        ("Ask", "priority", "/v1/questions"),
        ("RaiseHalt", "scope", "/v1/halts"),
        ("StartRun", "kind", "/v1/runs"),
        ("RecordStep", "kind", "/v1/runs/{run}/steps"),
        ("RecordStep", "state", "/v1/runs/{run}/steps"),
        ("EndRun", "status", "/v1/runs/{run}/end"),
        ("NewToken", "role", "/v1/tokens"),
    ] {
        for word in words(schema, field) {
            let (who, method, mut body) = match (schema, word.as_str()) {
                ("OpenGate", _) => ("root-of-all", "POST", json!({"summary": "x"})),
                ("Amend", _) => ("agent-a", "PATCH", json!({})),
                ("Decide", "adjust") => ("alice", "POST", json!({"feedback": "shorter"})),
                ("Decide", _) => ("alice", "POST", json!({"reason": "because"})),
                ("Ask", _) => ("agent-b", "POST", json!({"type": "DECISION", "text": "x", "session_id": "s-1"})),
                ("RaiseHalt", "agent") => ("root-of-all", "POST", json!({"reason": "x", "agent_id": "nobody-here"})),
                ("RaiseHalt", "session") => ("root-of-all", "POST", json!({"reason": "x", "session_id": "s-2"})),
                ("RaiseHalt", _) => ("root-of-all", "POST", json!({"reason": "x"})),
                ("StartRun", "plan") => {
                    let input = json!({"goal": "x", "max_iterations": 1, "checkpoint_interval": 1});
                    ("agent-a", "POST", json!({"workflow": "plan@1", "input": input}))
                }
                // A version that only these tests have: it does nothing.
                ("StartRun", "debate") => ("agent-a", "POST", json!({"workflow": "debate@999"})),
                ("StartRun", "custom") => ("agent-a", "POST", json!({"workflow": "works@1"})),
                ("StartRun", _) => ("agent-a", "POST", json!({})),
                ("RecordStep", "failed") => ("agent-a", "POST", json!({"key": "a", "error": {"message": "no"}})),
                ("RecordStep", _) => ("agent-a", "POST", json!({"key": "a", "state": "done"})),
                ("EndRun", _) => ("agent-a", "POST", json!({})),
                ("NewToken", role) => ("root-of-all", "POST", json!({"name": format!("new-{role}")})),
                (other, _) => panic!("say what {other} needs"),
            };
            body[field] = json!(word);
            let choices = json!(["approve", "reject", "adjust", "pause"]);
            let gate = json!({"summary": "x", "kind": "checkpoint", "risk": "low", "allowed": choices});
            let path = match schema {
                "Amend" | "Decide" => path.replace("{gate}", &id(&node.opened(gate).await)),
                "RecordStep" | "EndRun" => path.replace("{run}", &node.starts_own().await),
                _ => path.to_owned(),
            };
            let token = crate::node::token(who);
            let answer = crate::http::send(&node.url, method, &path, &token, &[], &body.to_string()).await;
            assert!([200, 201].contains(&answer.status), "{schema}.{field} = {word}: {answer:?}");
            taken += 1;
            lift_all(&node).await;
        }
    }
    assert!(taken > 40, "only {taken} words were tried");
}

/// What was halted to try a word must not stop the next.
async fn lift_all(node: &Node) {
    let halted = node.get("vera", "/v1/halts").await.json();
    for held in halted["held_by"]["system"].as_array().unwrap() {
        let path = format!("/v1/halts/{}", held["id"].as_str().unwrap());
        crate::http::send(&node.url, "DELETE", &path, &crate::node::token("root-of-all"), &[], "").await;
        node.closes("alice", held["id"].as_str().unwrap(), "skip", json!({})).await;
    }
}

#[test]
fn what_holds_for_every_operation_is_said_of_each() {
    let document = serde_json::to_value(folkmoot_server::document()).unwrap();
    let mut bodies = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            for parameter in &parameters {
                assert!(
                    resolved(&parameter["schema"])["type"].is_string(),
                    "{method} {path}: {parameter} has one type, and not null"
                );
            }
            let key = parameters.iter().any(|parameter| parameter["name"] == "Idempotency-Key");
            let body = &operation["requestBody"];
            assert_eq!(key, body.is_object(), "{method} {path}: whoever sends a body can send it again");
            if let Some(schema) = body["content"]["application/json"]["schema"]["$ref"].as_str() {
                let schema = described(schema.rsplit('/').next().unwrap());
                assert_eq!(body["required"], json!(schema["required"].is_array()), "{method} {path}");
                bodies += 1;
            }
        }
    }
    assert!(bodies > 15, "only {bodies} bodies were found");
}
