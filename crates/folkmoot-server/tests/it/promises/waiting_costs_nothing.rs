//! A gate that waits, or a run parked at one, holds no thread, task or connection, only rows.

use std::time::Duration;

use serde_json::json;

use crate::{
    node::{Node, Setting, everywhere_with},
    runs::with_workflows,
};

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test]
async fn waiting_costs_nothing() {
    let node = Node::start().await;
    node.opened(json!({"summary": "the first opens what all share"})).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let before = tasks();
    for n in 0..2000 {
        node.opened(json!({"summary": format!("gate {n}")})).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(tasks() <= before + 2, "{} tasks for 2,000 gates, {before} before", tasks());
}

/// There is one place for a run on each node, and all that wait have given theirs back.
#[tokio::test]
async fn a_run_that_waits_at_a_gate_costs_nothing_and_goes_on_when_it_is_decided() {
    let one_at_a_time = || {
        let work = folkmoot_engine::WorkerSettings { runs_at_once: 1, ..folkmoot_engine::WorkerSettings::default() };
        Setting { work: Some(work), ..with_workflows() }
    };
    for nodes in everywhere_with(one_at_a_time).await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let run = first.starts("publish@1", json!("the first opens what all share")).await;
        first.gate_of(&run).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = tasks();
        let mut runs = Vec::new();
        for n in 0..60 {
            runs.push(first.starts("publish@1", json!(format!("News {n}"))).await);
        }
        let mut gates = Vec::new();
        for run in &runs {
            gates.push(first.gate_of(run).await);
            let parked = first.run(run).await;
            assert_eq!((&parked["node"], &parked["status"]), (&json!(null), &json!("parked")));
        }
        let mut tries = 0;
        while tasks() > before + 2 {
            tries += 1;
            assert!(tries < 100, "{} tasks for 60 parked runs, {before} before", tasks());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for gate in &gates {
            assert_eq!(last.post("alice", &format!("/v1/gates/{gate}/approve"), json!({})).await.status, 200);
        }
        for run in &runs {
            first.until_is(run, "completed").await;
        }
    }
}
