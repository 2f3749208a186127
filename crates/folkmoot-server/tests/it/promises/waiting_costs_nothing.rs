//! A gate that waits holds no thread, task or connection, only rows.

use serde_json::json;

use crate::node::Node;

#[tokio::test]
async fn waiting_costs_nothing() {
    let node = Node::start().await;
    node.opened(json!({"summary": "the first opens what all share"})).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let before = tasks();
    for n in 0..2000 {
        node.opened(json!({"summary": format!("gate {n}")})).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert!(tasks() <= before + 2, "{} tasks for 2,000 gates, {before} before", tasks());
}
