//! A model that is away: the plan waits for it, says so wherever one looks, and loses nothing.

use std::{path::Path, time::Duration};

use folkmoot_server::workflows::llm::settings::{ProviderKind, ProviderSettings};
use serde_json::json;

use super::*;
use crate::node::Setting;

/// A model that is away while there is a file `away`, and knows how a plan looks.
fn model(folder: &Path) -> Setting {
    let script = format!(
        r#"if [ -e '{0}/away' ]; then echo "closed for today" >&2; exit 1; fi
        asked=$(cat)
        case "$asked" in
            *"write the final plan"*) printf '## Executive summary\n\nBake.\n\n## Implementation plan\n\nBuy flour.\n' ;;
            *) date +'{{"title":"T","text":"Text of %s%N.","insights":["I"],"frameworks":[],"data_points":[]}}' ;;
        esac"#,
        folder.display()
    );
    let mut provider = ProviderSettings::of(ProviderKind::Command);
    (provider.command, provider.attempts) = (["/bin/sh", "-c", &script].map(str::to_owned).to_vec(), 1);
    Setting { provider: Some(("baker".to_owned(), provider)), ..Setting::default() }
}

/// The plan, once it waits for its provider.
async fn waits(node: &Node, id: &str) -> Value {
    for _ in 0..3_000 {
        let plan = ok(node.get(ALICE, &format!("/v1/plans/{id}")).await);
        if plan["outages"].as_array().is_some_and(|outages| !outages.is_empty()) {
            return plan;
        }
        assert_eq!(plan["fault"], Value::Null, "{plan:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it never waits: {:#}", ok(node.get(ALICE, &format!("/v1/plans/{id}")).await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_whose_model_is_away_says_so_everywhere_and_goes_on_when_it_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let node = Node::with(model(folder.path())).await;
    let asked = approve(&node, &plan(&node, 2, 2).await).await;
    let id = session(&asked).to_owned();
    // Away at the synthesis: once this ended the plan.
    std::fs::write(folder.path().join("away"), "").unwrap();
    let answered = say(&node, &asked, "approved", json!({})).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    let waiting = waits(&node, &id).await;
    assert_eq!(
        (&waiting["status"], &waiting["outages"][0]["provider"]),
        (&json!("planning_in_progress"), &json!("baker"))
    );
    assert!(waiting["message"].as_str().unwrap().contains("Waiting for provider baker"), "{waiting:#}");
    for path in [format!("/v1/runs/{id}"), "/v1/runs?status=parked".to_owned()] {
        let found = ok(node.get(ALICE, &path).await);
        let run = if found["runs"].is_array() { &found["runs"][0] } else { &found };
        assert_eq!((&run["status"], &run["outages"][0]["provider"]), (&json!("parked"), &json!("baker")), "{path}");
        assert!(run["outages"][0]["reason"].as_str().unwrap().contains("closed for today"), "{run:#}");
        assert!(run["outages"][0]["next_try_at"].is_string());
    }
    // What was accepted can be taken along meanwhile.
    let exported = node.get(ALICE, &format!("/v1/plans/{id}/export")).await;
    assert_eq!(exported.status, 200, "{exported:?}");
    assert!(exported.body.contains("This plan is not complete") && exported.body.contains("Text of "), "{exported:?}");
    assert!(exported.body.contains("## Iteration 2: T (accepted)"), "{exported:?}");
    std::fs::remove_file(folder.path().join("away")).unwrap();
    let resumed = node.post(ALICE, &format!("/v1/runs/{id}/resume"), json!({})).await;
    assert_eq!(resumed.status, 200, "{resumed:?}");
    let ended = ok(node.get(ALICE, &format!("/v1/runs/{id}/wait?timeout_ms=60000")).await);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let plan = ok(node.get(ALICE, &format!("/v1/plans/{id}")).await);
    assert_eq!((&plan["result"]["iterations_completed"], &plan["outages"]), (&json!(2), &json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_can_be_exported_in_every_state_in_which_there_is_something() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 1).await;
    let export = format!("/v1/plans/{}/export", session(&asked));
    assert_eq!(node.get(ALICE, &export).await.status, 409, "nothing was approved yet");
    approve(&node, &asked).await;
    let at_checkpoint = node.get(ALICE, &export).await;
    assert!(at_checkpoint.status == 200 && at_checkpoint.body.contains("(not decided on yet)"), "{at_checkpoint:?}");
    ok(node.post(ALICE, &format!("/v1/runs/{}/cancel", session(&asked)), json!({})).await);
    let cancelled = node.get(ALICE, &export).await;
    assert!(cancelled.status == 200 && cancelled.body.contains("## Proposal"), "{cancelled:?}");
}
