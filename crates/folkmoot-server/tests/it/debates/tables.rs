//! The database as people query it.

use serde_json::{Value, json};

use super::{ALICE, ok, over, start};
use crate::node::Node;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_and_http_show_the_same_numbers_and_the_log_is_written() {
    let node = Node::start().await;
    let id = start(&node, json!({ "min_consensus": 0.75 })).await;
    let debate = over(&node, &id).await;
    let results = ok(node.get(ALICE, &format!("/v1/debates/{id}/results")).await);
    let database = rusqlite::Connection::open(node.data.path().join("folkmoot.db")).unwrap();
    let session = |column: &str| -> String {
        let sql = format!("SELECT {column} FROM debate_sessions WHERE debate_id = ?1");
        database.query_row(&sql, [&id], |row| row.get(0)).unwrap()
    };
    let config: Value = serde_json::from_str(&session("config")).unwrap();
    assert_eq!(config, debate["config"]);
    assert_eq!(config["min_consensus"], json!(0.75));
    let outcome: Value = serde_json::from_str(&session("outcome")).unwrap();
    assert_eq!(outcome, debate["outcome"]);
    assert_eq!(outcome, results["verdict"]);
    let consensus: f64 = outcome["consensus"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&consensus) && outcome["confidence"].as_f64().unwrap() <= 1.0, "{outcome}");
    assert_eq!(outcome["consensus_reached"], json!(consensus >= 0.75));
    assert!(outcome["fallback_used"].is_boolean(), "{outcome}");
    let mut lines = database
        .prepare("SELECT level, message, data, created_at, expires_at FROM debate_logs WHERE debate_id = ?1")
        .unwrap();
    let lines: Vec<(String, String, String, i64, i64)> = lines
        .query_map([&id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(lines.len() > 10 && lines.iter().any(|line| line.1.starts_with("the debate is over")), "{lines:?}");
    for (level, message, data, created_at, expires_at) in &lines {
        assert!(matches!(level.as_str(), "info" | "warn") && !message.is_empty(), "{level}: {message}");
        assert!(serde_json::from_str::<Value>(data).unwrap()["event"].is_string(), "{data}");
        assert_eq!(expires_at - created_at, 30 * 24 * 3600 * 1_000_000, "microseconds, and thirty days");
    }
    node.verifies().await;
}
