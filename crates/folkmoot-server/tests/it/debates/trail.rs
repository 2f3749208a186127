//! The trail: complete, in order, and true to the log.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

async fn trail(node: &Node, id: &str, query: &str) -> Value {
    ok(node.get(ALICE, &format!("/v1/debates/{id}/audit?limit=500{query}")).await)
}

fn entries(trail: &Value) -> &Vec<Value> {
    trail["entries"].as_array().unwrap()
}

fn of<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a Value> {
    entries.iter().filter(|entry| entry["type"] == kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trail_has_every_prompt_every_answer_and_every_decision_in_order() {
    let node = Node::start().await;
    let id = start(&node, json!({ "preset": "full", "max_rounds": 1, "gates": gates(&["convergence"]) })).await;
    waits(&node, &id, "").await;
    ok(decide(&node, &id, "approve", json!({ "reason": "well argued" })).await);
    over(&node, &id).await;
    let whole = trail(&node, &id, "").await;
    assert!(whole["next"].is_null(), "one page holds it");
    let all = entries(&whole);
    let first = |kind: &str| all.iter().position(|entry| entry["type"] == kind).unwrap_or_else(|| panic!("no {kind}"));
    let order = [
        "debate_started",
        "round_started",
        "phase_started",
        "prompt_sent",
        "response_received",
        "vote_cast",
        "gate_decision",
        "round_completed",
        "debate_completed",
    ];
    for pair in order.windows(2) {
        assert!(first(pair[0]) < first(pair[1]), "{pair:?}");
    }
    assert_eq!(all.last().unwrap()["type"], "debate_completed");
    assert!(!of(all, "phase_completed").is_empty());
    assert!(all.windows(2).all(|pair| pair[0]["position"].as_u64() <= pair[1]["position"].as_u64()));
    assert!(all.iter().all(|entry| entry["at"].as_str().is_some_and(|at| at.starts_with("20"))));

    // Every prompt is whole, and stands right before what came of it, of the same step.
    let turns = turns(&node, &id, "").await;
    let prompts = of(all, "prompt_sent");
    assert!(prompts.len() >= turns.len() && !turns.is_empty(), "{} prompts, {} turns", prompts.len(), turns.len());
    for (place, entry) in all.iter().enumerate().filter(|(_, entry)| entry["type"] == "prompt_sent") {
        let text = entry["data"]["messages"][0]["text"].as_str().unwrap();
        assert!(text.contains(TOPIC) && entry["data"]["system"].is_string(), "{entry:#}");
        assert!(entry["agent"].is_string() && entry["data"]["cue"]["part"].is_string());
        let came = &all[place + 1];
        assert_eq!(came["type"], "response_received");
        assert_eq!((&came["step"], &came["data"]["call"]), (&entry["step"], &entry["data"]["call"]));
        assert!(came["data"]["model"].is_string() && came["data"]["usage"]["output_tokens"].is_u64(), "{came:#}");
    }
    // Each turn names the step of its first call, and what it said is what the model answered.
    let steps: BTreeSet<&str> = prompts.iter().map(|entry| entry["step"].as_str().unwrap()).collect();
    for turn in &turns {
        let step = turn["metadata"]["step"].as_str().unwrap();
        assert!(steps.iter().any(|key| key.starts_with(step)), "{step} is in no prompt");
    }
    let decision = of(all, "gate_decision");
    assert_eq!(
        (&decision[0]["data"]["reviewer"], &decision[0]["data"]["reason"]),
        (&json!(ALICE), &json!("well argued"))
    );
    let votes = ok(node.get(ALICE, &format!("/v1/debates/{id}/votes")).await);
    assert_eq!(of(all, "vote_cast").len(), votes["votes"].as_array().unwrap().len());

    // The summary is what the entries come to.
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in all {
        *types.entry(entry["type"].as_str().unwrap()).or_default() += 1;
    }
    assert_eq!(whole["summary"]["types"], json!(types));
    let results = ok(node.get(ALICE, &format!("/v1/debates/{id}/results")).await);
    assert_eq!(whole["summary"]["cost"], results["cost"]);
    let answers = of(all, "response_received").len();
    assert_eq!(
        whole["summary"]["models"].as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(),
        answers as u64
    );

    // By type and by agent, and page by page, it is the same trail.
    let prompts_only = trail(&node, &id, "&type=prompt_sent").await;
    assert_eq!(entries(&prompts_only).iter().collect::<Vec<_>>(), prompts);
    assert_eq!(prompts_only["summary"], whole["summary"], "of all, whatever was asked for");
    let agent = prompts[0]["agent"].as_str().unwrap();
    let of_agent = trail(&node, &id, &format!("&agent={agent}")).await;
    let expected: Vec<&Value> = all.iter().filter(|entry| entry["agent"] == agent).collect();
    assert_eq!(entries(&of_agent).iter().collect::<Vec<_>>(), expected);
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = ok(node.get(ALICE, &format!("/v1/debates/{id}/audit?limit=7{cursor}")).await);
        assert!(entries(&page).len() <= 8, "a prompt is not parted from its answer");
        assert_eq!(page["summary"].is_null(), !cursor.is_empty(), "on the first page only");
        paged.extend(entries(&page).clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(&paged, all);
    node.verifies().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debate_that_was_cancelled_has_a_trail_that_says_so() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    waits(&node, &id, "").await;
    ok(node.send(AGENT, "DELETE", &format!("/v1/debates/{id}?reason=enough"), json!({})).await);
    let whole = trail(&node, &id, "").await;
    let last = of(entries(&whole), "debate_completed")[0].clone();
    assert_eq!(
        (&last["type"], &last["data"]["status"], &last["data"]["by"], &last["data"]["reason"]),
        (&json!("debate_completed"), &json!("cancelled"), &json!(AGENT), &json!("enough"))
    );
}
