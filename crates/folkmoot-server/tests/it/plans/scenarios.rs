//! The seventeen ways in which the original planner failed, each a test here.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use folkmoot_server::workflows::llm::settings::{ProviderKind, ProviderSettings};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    http,
    node::{Setting, everywhere, token},
};

/// The wait blocked the event loop, and the approval's POST hung.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_01_everything_else_answers_while_plans_wait() {
    let node = Node::start().await;
    let waiting: Vec<_> = futures_util::future::join_all((0..20).map(|_| plan(&node, 6, 3))).await;
    let begun = Instant::now();
    assert_eq!(node.get(ALICE, "/v1/gates").await.status, 200);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(approve(&node, &waiting[0]).await["iteration"], 3);
}

/// An approval between `clear()` and `wait()` was lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_02_a_decision_before_anyone_waits_counts() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    // Nobody follows, nobody waits, and the run is parked.
    let path = format!("/v1/plans/{}", session(&asked));
    let gate = ok(node.get(ALICE, &path).await)["waiting_at"].as_str().unwrap().to_owned();
    ok(node.post(ALICE, &format!("/v1/gates/{gate}/approve"), json!({})).await);
    let frames_path = format!("/v1/plans/{}/wait?after={gate}&timeout_ms=10000", session(&asked));
    let next = ok(node.get(ALICE, &frames_path).await);
    assert_eq!(next["approval_id"], format!("checkpoint_iter2_{}", session(&asked)), "{next}");
}

/// The queue ignored the checkpoint's number: a double click approved the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_03_a_double_click_approves_only_the_checkpoint_that_was_shown() {
    for nodes in everywhere().await {
        let (node, other) = (&nodes[0], nodes.last().unwrap());
        let first = approve(node, &plan(node, 6, 2).await).await;
        let clicks = [say(node, &first, "approved", json!({})), say(other, &first, "approved", json!({}))];
        let answers = futures_util::future::join_all(clicks).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 1), "{answers:?}");
        assert_eq!(refused(lost[0]), (409, "gate_decided".to_owned()));
        let second = won[0].json();
        assert_eq!(second["iteration"], 4, "{second}");
        // A third, late click changes nothing either.
        assert_eq!(refused(&say(node, &first, "approved", json!({})).await).0, 409);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let path = format!("/api/plan/{}", session(&first));
        assert_eq!(ok(other.get(ALICE, &path).await), second, "the next checkpoint still waits");
    }
}

/// A missing decision meant "approve".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_04_a_missing_or_unknown_decision_is_refused() {
    let node = Node::start().await;
    let asked = plan(&node, 6, 3).await;
    let id = &asked["approval_id"];
    for body in [
        json!({ "approval_id": id }),
        json!({ "approval_id": id, "approval_status": null }),
        json!({ "approval_id": id, "approval_status": "" }),
        json!({ "approval_id": id, "approval_status": "yes" }),
        json!({ "approval_id": id, "approval_status": "APPROVED" }),
        json!({ "approval_id": id, "approval_status": true }),
        json!({ "approval_id": id, "decision": "approved" }),
        json!({ "approval_status": "approved" }),
        // Words of the other sort of gate.
        json!({ "approval_id": id, "approval_status": "paused" }),
        json!({ "approval_id": id, "approval_status": "adjust_strategy", "feedback": "f" }),
        // An adjustment that says nothing.
        json!({ "approval_id": id, "approval_status": "adjust_requested" }),
    ] {
        let answer = node.post(ALICE, "/api/approve", body.clone()).await;
        assert_eq!(refused(&answer).0, 400, "{body}: {answer:?}");
    }
    assert_eq!(ok(node.get(ALICE, &format!("/api/plan/{}", session(&asked))).await), asked, "it still waits");
}

/// Iterations went on after a rejection, and rejected text was in the plan.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_05_after_a_rejection_nothing_goes_on_and_nothing_of_it_is_in_the_plan() {
    let node = Node::start().await;
    let first = approve(&node, &plan(&node, 6, 2).await).await;
    let second = approve(&node, &first).await;
    let done = ok(say(&node, &second, "rejected", json!({ "feedback": "too dear" })).await);
    assert_eq!((&done["status"], &done["iterations_completed"]), (&json!("complete"), &json!(2)), "{done}");
    let text = done["final_plan"].as_str().unwrap();
    assert!(text.contains("Who it is for") && !text.contains("What could go wrong"), "{text}");
    let frames = follow(&node, session(&first), None).await;
    let begun = frames.iter().filter(|(name, ..)| name == "iteration_started").count();
    assert_eq!(begun, 4, "none after the rejection");
}

async fn follow(node: &Node, session: &str, last: Option<u64>) -> Vec<(String, Option<u64>, Value)> {
    let last = last.map(|last| last.to_string());
    let headers: Vec<(&str, &str)> = last.iter().map(|last| ("last-event-id", last.as_str())).collect();
    let path = format!("/api/execute-plan?session_id={session}");
    frames(&http::send(&node.url, "GET", &path, &token(AGENT), &headers, "").await)
}

/// The generator ended after an approval without a final plan: an endless spinner.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_06_every_stream_ends_with_a_terminal_event() {
    let node = Node::start().await;
    let complete = plan(&node, 1, 1).await;
    assert_eq!(complete["status"], "complete", "one iteration runs at once: {complete}");
    let found = follow(&node, session(&complete), None).await;
    let expected =
        ["planning_started", "iteration_started", "iteration_progress", "synthesis_started", "final_plan", "complete"];
    assert_eq!(names(&found), expected);

    let asked = plan(&node, 6, 3).await;
    ok(say(&node, &asked, "rejected", json!({})).await);
    assert_eq!(names(&follow(&node, session(&asked), None).await).last(), Some(&"cancelled"));

    let asked = plan(&node, 6, 3).await;
    let id = session(&asked);
    ok(node.post(AGENT, &format!("/v1/runs/{id}/cancel"), json!({ "reason": "enough" })).await);
    let found = follow(&node, id, None).await;
    assert_eq!(names(&found), ["planning_started", "awaiting_approval", "cancelled"]);
    assert_eq!(found[2].2["reason"], "cancelled");

    // Also for whoever comes back with the id of the last one.
    let last = found[2].1;
    assert_eq!(names(&follow(&node, id, last).await), ["cancelled"]);
}

/// Control values were read again from the request, not from the approved proposal.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_07_nothing_but_the_approved_proposal_says_how_far_it_goes() {
    let node = Node::start().await;
    let asked = plan(&node, 4, 2).await;
    for more in [json!({ "max_iterations": 20 }), json!({ "checkpoint_interval": 10 }), json!({ "goal": "another" })] {
        let answer = say(&node, &asked, "approved", more).await;
        assert_eq!(refused(&answer).0, 400, "{answer:?}");
    }
    let next = approve(&node, &asked).await;
    assert_eq!((&next["iteration"], &next["total_iterations"]), (&json!(2), &json!(4)));
    // And what was approved holds the pace: it is in the content whose digest the decision names.
    let gates = ok(node.get(ALICE, &format!("/v1/gates?run={}", session(&asked))).await);
    let gate = gates["gates"].as_array().unwrap().iter().find(|gate| gate["kind"] == "proposal").unwrap();
    let gate = ok(node.get(ALICE, &format!("/v1/gates/{}", gate["id"].as_str().unwrap())).await);
    let request = gate["artifacts"].as_array().unwrap().iter().find(|artifact| artifact["name"] == "request.json");
    let request: Value = serde_json::from_str(request.unwrap()["content"].as_str().unwrap()).unwrap();
    assert_eq!((&request["max_iterations"], &request["checkpoint_interval"]), (&json!(4), &json!(2)));
    assert_eq!(gate["decision"]["digest"], gate["digest"]);
}

/// A session id that was given was ignored, and the approval not found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_08_the_session_that_was_named_is_the_session() {
    let node = Node::start().await;
    let body = json!({ "goal": "Open a second bakery", "max_iterations": 2, "session_id": "session123" });
    let asked = ok(node.post(AGENT, "/api/plan", body.clone()).await);
    assert_eq!((session(&asked), &asked["approval_id"]), ("session123", &json!("proposal_session123")));
    assert_eq!(ok(node.post(AGENT, "/api/plan", body).await), asked, "the same again is the same plan");
    let other = json!({ "goal": "Close the first bakery", "max_iterations": 2, "session_id": "session123" });
    let answer = node.post(AGENT, "/api/plan", other).await;
    assert_eq!(refused(&answer), (409, "run_exists".to_owned()));
    assert_eq!(answer.json()["session_id"], "session123");
    // The planner API's short ids, with the session.
    let short = json!({ "approval_id": "proposal", "approval_status": "approved", "session_id": "session123" });
    let next = ok(node.post(ALICE, "/api/approve", short).await);
    assert_eq!(next["approval_id"], "checkpoint_iter2_session123");
    let short = json!({ "approval_id": "checkpoint_iter2", "approval_status": "approved", "session_id": "session123" });
    assert_eq!(ok(node.post(ALICE, "/api/approve", short).await)["status"], "complete");
}

/// An event lacked fields that a page needs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_09_every_event_has_what_a_page_needs() {
    let node = Node::start().await;
    let first = approve(&node, &plan(&node, 4, 2).await).await;
    ok(say(&node, &first, "paused", json!({})).await);
    let found = follow(&node, session(&first), None).await;
    let expected = [
        ("planning_started", "goal max_iterations checkpoint_interval total_iterations provider"),
        (
            "awaiting_approval",
            "approval_id approval_type proposal goal estimated_iterations checkpoint_interval next_action",
        ),
        ("proposal_approved", "approval_id approval_status total_iterations"),
        ("iteration_started", "iteration total_iterations"),
        (
            "iteration_progress",
            "iteration total_iterations title insights frameworks_evolved data_points_collected percent",
        ),
        ("iteration_started", "iteration total_iterations"),
        (
            "iteration_progress",
            "iteration total_iterations title insights frameworks_evolved data_points_collected percent",
        ),
        ("awaiting_approval", "approval_id approval_type iteration total_iterations checkpoint_summary insights"),
        ("paused", "reason iteration total_iterations message proceed_to_synthesis next_action"),
        ("synthesis_started", "accepted"),
        ("final_plan", "final_plan memory_entities iterations_completed total_iterations"),
        (
            "complete",
            "status final_plan memory_entities plan_saved_to_memory iterations_completed total_iterations timestamp",
        ),
    ];
    assert_eq!(names(&found), expected.map(|(name, _)| name));
    for ((name, id, told), (_, fields)) in found.iter().zip(expected) {
        for field in fields.split(' ').chain(["type", "session_id"]) {
            assert!(told.get(field).is_some_and(|value| !value.is_null()), "{name} has no {field}: {told:#}");
        }
        assert_eq!(id.is_some(), name != "final_plan", "{name}");
    }
    assert_eq!(found[8].2["proceed_to_synthesis"], true);
}

/// The page crashed, and with it went the only trace of what was asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_10_whoever_lost_the_event_finds_what_is_asked_elsewhere() {
    let node = Node::start().await;
    let asked = plan(&node, 6, 3).await;
    let path = format!("/api/plan/{}", session(&asked));
    assert_eq!(ok(node.get(AGENT, &path).await), asked, "by its session");
    let pending = ok(node.get(ALICE, "/v1/gates?status=pending").await);
    assert_eq!(pending["gates"].as_array().unwrap().len(), 1, "in the inbox");
    assert_eq!(pending["gates"][0]["title"], "Plan: Open a second bakery");
    let listed = ok(node.get(ALICE, "/v1/plans").await);
    assert_eq!(listed["plans"][0]["approval_id"], asked["approval_id"], "among the plans");
}

/// What was given to build on was dropped on one of the ways.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_11_what_it_builds_on_is_in_every_prompt() {
    let node = Node::start().await;
    let earlier = plan(&node, 1, 1).await;
    let entity = format!("{}/executive_summary_report", session(&earlier));
    let body = json!({ "goal": "A third bakery", "max_iterations": 2, "entities": [entity] });
    let asked = ok(node.post(AGENT, "/api/plan", body).await);
    let again = ok(say(&node, &asked, "adjust_requested", json!({ "feedback": "shorter" })).await);
    let last = approve(&node, &again).await;
    assert_eq!(approve(&node, &last).await["status"], "complete");
    let path = format!("/v1/runs/{}/journal?limit=200", session(&asked));
    let journal = ok(node.get(AGENT, &path).await);
    let prompt = |key: &str| {
        let entries = journal["entries"].as_array().unwrap();
        let entry =
            entries.iter().find(|entry| entry["key"] == key).unwrap_or_else(|| panic!("no {key} in {journal:#}"));
        entry["result"].to_string()
    };
    for key in ["proposal/1/written", "proposal/2/written", "iteration/1", "iteration/2", "synthesis"] {
        assert!(prompt(key).contains("This was found in 1 iteration:"), "{key} does not have what it builds on");
    }
}

/// A model that answers the same each time, and knows how a plan looks.
const PARROT: &str = r#"
if grep -q "write the final plan"; then
    printf '## Executive summary\n\nBake.\n\n## Implementation plan\n\nBuy flour.\n'
else
    printf '{"title":"T","text":"The same.","insights":["I"],"frameworks":[],"data_points":[]}'
fi
"#;

/// Each iteration gave the same, and that it was found invalid was ignored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_12_what_only_repeats_counts_as_nothing_and_is_shown_so() {
    let command = ["/bin/sh", "-c", PARROT].map(str::to_owned).to_vec();
    let mut parrot = ProviderSettings::of(ProviderKind::Command);
    parrot.command = command;
    let node = Node::with(Setting { provider: Some(("parrot".to_owned(), parrot)), ..Setting::default() }).await;
    let asked = approve(&node, &plan(&node, 3, 3).await).await;
    assert_eq!(asked["insights"], json!(["I"]), "{asked:#}");
    let summary = asked["checkpoint_summary"].as_str().unwrap();
    assert!(summary.contains("## Iteration 2 gave nothing\n\nit repeats iteration 1"), "{summary}");
    assert_eq!(approve(&node, &asked).await["status"], "complete");
}

/// An internal structure was shown instead of the text, and the text cut at 500 characters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_13_texts_are_shown_whole_and_as_they_are() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    let long = format!("# Mine\n\n{}\n\nThe end.", "Look at the ovens. ".repeat(2_000));
    let next = ok(say(&node, &asked, "adjust_requested", json!({ "adjusted_proposal": long })).await);
    assert_eq!((&next["proposal"], &next["approval_request"]["proposal"]), (&json!(long), &json!(long)));
    assert_eq!(next["approval_id"], format!("proposal_{}~2", session(&asked)));
    let next = approve(&node, &next).await;
    let summary = next["checkpoint_summary"].as_str().unwrap();
    assert!(
        summary.starts_with("## Iteration 1: Who it is for\n\n") && summary.contains("## Iteration 2: "),
        "{summary}"
    );
}

/// 60 % were always covered, and what was missing was skipped silently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_14_figures_are_counted_and_what_is_missing_is_said() {
    let node = Node::start().await;
    let unknown = json!({ "goal": "g", "max_iterations": 2, "session_id": "s-14", "entities": ["nowhere/nothing"] });
    assert_eq!(refused(&node.post(AGENT, "/api/plan", unknown).await), (404, "unknown_entity".to_owned()));
    assert_eq!(
        refused(&node.get(AGENT, "/api/plan/s-14").await),
        (404, "unknown_session".to_owned()),
        "nothing was started"
    );
    let asked = approve(&node, &plan(&node, 3, 1).await).await;
    ok(node.post(AGENT, &format!("/v1/runs/{}/cancel", session(&asked)), json!({})).await);
    let found = follow(&node, session(&asked), None).await;
    let progress = found.iter().find(|(name, ..)| name == "iteration_progress").unwrap();
    assert_eq!((&progress.2["percent"], &progress.2["frameworks_evolved"]), (&json!(33), &json!(1)));
}

/// Each iteration had a client of its own, and connections were left behind until there were no
/// more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_15_no_iteration_leaves_a_connection_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, most, calls) =
        (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (opened, counted, called) = (open.clone(), most.clone(), calls.clone());
    let vendor = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_max(opened.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let (opened, called) = (opened.clone(), called.clone());
            tokio::spawn(async move {
                answer_each(stream, called).await;
                opened.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    let mut provider = ProviderSettings::of(ProviderKind::OpenAi);
    (provider.base_url, provider.model) = (Some(format!("http://{address}/v1")), Some("m".to_owned()));
    let node = Node::with(Setting { provider: Some(("vendor".to_owned(), provider)), ..Setting::default() }).await;
    let asked = approve(&node, &plan(&node, 8, 8).await).await;
    assert_eq!(asked["insights"].as_array().map(Vec::len), Some(8), "{asked:#}");
    vendor.abort();
    assert_eq!(calls.load(Ordering::SeqCst), 9, "a proposal and eight iterations, each asked once");
    let most = most.load(Ordering::SeqCst);
    assert!(most <= 2, "{most} connections were open at the same time");
}

/// Speaks just enough of OpenAI's format: another iteration for each request.
async fn answer_each(mut stream: TcpStream, calls: Arc<AtomicUsize>) {
    let mut received = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(read) => received.extend_from_slice(&piece[..read]),
            }
        };
        let text = String::from_utf8_lossy(&received[..head]).to_lowercase();
        let length =
            text.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap().trim().parse::<usize>();
        let end = head + length.unwrap();
        while received.len() < end {
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(read) => received.extend_from_slice(&piece[..read]),
            }
        }
        received.drain(..end);
        let number = calls.fetch_add(1, Ordering::SeqCst);
        let content = json!({ "title": "T", "text": format!("text {number}"), "insights": [format!("insight {number}")],
                              "frameworks": [], "data_points": [] });
        let chunk = json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": { "content": content.to_string() },
                            "finish_reason": "stop" }] });
        let body = format!("data: {chunk}\n\ndata: [DONE]\n\n");
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A client that came back after losing its connection started the plan anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_16_leaving_and_coming_back_restarts_nothing() {
    let node = Node::start().await;
    let asked = plan(&node, 2, 2).await;
    let id = session(&asked).to_owned();
    // Somebody follows, and leaves while it waits.
    for _ in 0..3 {
        let path = format!("/api/execute-plan?session_id={id}");
        let secret = token(AGENT);
        let following = http::send(&node.url, "GET", &path, &secret, &[], "");
        let left = tokio::time::timeout(Duration::from_millis(200), following);
        assert!(left.await.is_err(), "it goes on as long as the plan waits");
    }
    let done = approve(&node, &approve(&node, &asked).await).await;
    assert_eq!(done["status"], "complete");
    let whole = follow(&node, &id, None).await;
    assert_eq!(names(&whole).iter().filter(|name| **name == "planning_started").count(), 1);
    // Wherever somebody left, the rest comes, each once.
    for (at, (_, position, _)) in whole.iter().enumerate() {
        let Some(position) = position.filter(|_| at + 1 < whole.len()) else { continue };
        assert_eq!(follow(&node, &id, Some(position)).await, whole[at + 1..], "after {position}");
    }
}

/// The original planner's own code: what its ids meant, what it forgot to handle, and how its gates
/// were switched off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_17_what_the_seeds_own_code_got_wrong() {
    let node = Node::start().await;
    let (one, two) = (plan(&node, 4, 2).await, plan(&node, 4, 2).await);
    let (one, two) = (approve(&node, &one).await, approve(&node, &two).await);
    assert_ne!(one["approval_id"], two["approval_id"], "the same checkpoint of two sessions");

    // The planner API's short id names neither of them, and with a session only that session's.
    let short = json!({ "approval_id": "checkpoint_iter2", "approval_status": "approved" });
    assert_eq!(refused(&node.post(ALICE, "/api/approve", short).await), (400, "session_required".to_owned()));
    let foreign =
        json!({ "approval_id": one["approval_id"], "approval_status": "approved", "session_id": session(&two) });
    assert_eq!(refused(&node.post(ALICE, "/api/approve", foreign).await), (404, "unknown_approval".to_owned()));
    let unknown = json!({ "approval_id": "proposal_nowhere", "approval_status": "approved" });
    assert_eq!(refused(&node.post(ALICE, "/api/approve", unknown).await), (404, "unknown_approval".to_owned()));

    // Adjusting a strategy does something, and pausing too.
    let next = ok(say(&node, &one, "adjust_strategy", json!({ "adjusted_strategy": "Cheaper ovens only" })).await);
    assert_eq!(next["iteration"], 4);
    assert!(next["checkpoint_summary"].as_str().unwrap().contains("Cheaper ovens only"), "{next:#}");
    assert_eq!(ok(say(&node, &two, "paused", json!({})).await)["status"], "paused");

    // An approval that was given is closed.
    assert_eq!(refused(&say(&node, &one, "approved", json!({})).await), (409, "gate_decided".to_owned()));
    assert_eq!(refused(&say(&node, &one, "paused", json!({})).await), (409, "gate_decided".to_owned()));

    // What is saved is enough to go on after a restart, at the same gate.
    let data = node.stop().await;
    let node = Node::on(data, Setting::default()).await;
    assert_eq!(ok(node.get(AGENT, &format!("/api/plan/{}", session(&one))).await), next);
    assert_eq!(approve(&node, &next).await["status"], "complete");
}
