//! How far a call reaches: no agent ends, hides, weakens or silences what people or other agents
//! opened, none speaks in a person's name, nobody reads answers that are not theirs, and nobody
//! decides on content that they were not shown.

use std::time::Duration;

use folkmoot_core::gate::{GatePolicy, OnTimeout};
use serde_json::{Value, json};

use crate::{
    debates,
    halting::{covered, id, ids, kinds},
    node::{Node, Setting, everywhere, everywhere_with},
    plans,
};

const AGENT: &str = "agent-a";
const OTHER: &str = "agent-b";
const ALICE: &str = "alice";
const ADMIN: &str = "root-of-all";

async fn ask(node: &Node, who: &str, body: Value) -> String {
    let answer = node.post(who, "/v1/questions", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    id(&answer.json())
}

async fn open(node: &Node, who: &str, body: Value) -> String {
    let answer = node.post(who, "/v1/gates", body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    id(&answer.json())
}

async fn status(node: &Node, path: &str) -> String {
    node.get("vera", path).await.json()["status"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_that_ends_its_run_lifts_no_halt_and_closes_nothing_of_others() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        for (n, end) in ["end", "cancel"].into_iter().enumerate() {
            let session = format!("s{n}");
            let run = id(&first.started(json!({"session_id": session})).await);
            let ask_in = |kind: &str| json!({"type": kind, "text": "may I?", "run_id": run});
            let approval = ask(first, AGENT, ask_in("APPROVAL")).await;
            let emergency = ask(first, AGENT, ask_in("EMERGENCY")).await;
            let of_alice =
                ask(first, ALICE, json!({"type": "BLOCKING", "text": "wait", "run_id": run, "agent_id": AGENT})).await;
            let gate = open(first, ALICE, json!({"summary": "Not before I have looked", "run_id": run})).await;
            let own = open(first, AGENT, json!({"summary": "Deploy", "run_id": run})).await;
            let plain = ask(first, AGENT, ask_in("DECISION")).await;

            let body = if end == "end" { json!({"status": "failed", "reason": "x"}) } else { json!({}) };
            let ended = last.to_run(AGENT, &run, end, body).await;
            assert_eq!(ended.status, 200, "{ended:?}");

            covered(&nodes, AGENT, &session, &[&approval, &emergency, &of_alice]).await;
            covered(&nodes, OTHER, &session, &[&approval, &emergency]).await;
            assert_eq!(status(last, &format!("/v1/gates/{gate}")).await, "pending");
            assert_eq!(status(last, &format!("/v1/gates/{own}")).await, "cancelled");
            assert_eq!(status(last, &format!("/v1/questions/{plain}")).await, "cancelled");

            // What outlives it can be decided and closed as before.
            for question in [&approval, &emergency] {
                first.says(question, "cancel").await;
            }
            assert_eq!(first.closes("bob", &of_alice, "cancel", json!({})).await.status, 200);
            let rejected = first.post("bob", &format!("/v1/gates/{gate}/reject"), json!({"reason": "no"})).await;
            assert_eq!(rejected.status, 200, "{rejected:?}");
            covered(&nodes, AGENT, &session, &[]).await;
        }
        first.verifies().await;
    }
}

#[tokio::test]
async fn somebody_who_decides_ends_a_run_with_all_that_is_open_of_it() {
    let node = Node::start().await;
    let run = id(&node.started(json!({"session_id": "s1"})).await);
    let question = ask(&node, AGENT, json!({"type": "EMERGENCY", "text": "x", "run_id": run})).await;
    let denied = ask(&node, AGENT, json!({"type": "APPROVAL", "text": "x", "run_id": run})).await;
    node.says(&denied, "deny").await;
    let gate = open(&node, ALICE, json!({"summary": "x", "run_id": run})).await;
    assert_eq!(node.to_run("bob", &run, "cancel", json!({"reason": "enough"})).await.status, 200);
    covered(std::slice::from_ref(&node), AGENT, "s1", &[]).await;
    assert_eq!(status(&node, &format!("/v1/gates/{gate}")).await, "cancelled");
    assert_eq!(status(&node, &format!("/v1/questions/{question}")).await, "cancelled");
    assert_eq!(node.question("vera", &denied).await["closed"]["released_by"], "bob");
    node.verifies().await;
}

/// Every verb that an agent may say at all, said by each of two agents: none of it touches what
/// others opened.
#[tokio::test]
async fn whatever_an_agent_calls_what_others_opened_stands() {
    let node = Node::start().await;
    let run = id(&node.started(json!({"session_id": "s1", "id": "work"})).await);
    let gate = open(&node, ALICE, json!({"summary": "Hold", "run_id": run, "dedupe_key": "k"})).await;
    let of_other = open(&node, OTHER, json!({"summary": "Mine", "session_id": "s1", "dedupe_key": "k"})).await;
    let question = ask(&node, ALICE, json!({"type": "APPROVAL", "text": "x", "run_id": run, "agent_id": AGENT})).await;
    let plain = ask(&node, ALICE, json!({"type": "DECISION", "text": "x", "session_id": "s1"})).await;
    let halt = node.halts(json!({"scope": "session", "session_id": "s1"})).await;
    let webhook = json!({"name": "ops", "url": "https://example.com/x"});
    let webhook = id(&node.post(ADMIN, "/v1/webhooks", webhook).await.json());

    let digest = node.get("vera", &format!("/v1/gates/{gate}")).await.json()["digest"].clone();
    let content = node.get("vera", &format!("/v1/gates/{gate}")).await.json();
    let mut calls = vec![
        ("POST", "/v1/gates".to_owned(), json!({"summary": "Another", "run_id": run, "dedupe_key": "k"})),
        ("POST", "/v1/gates".to_owned(), json!({"summary": "Hold", "run_id": run, "dedupe_key": "k"})),
        ("POST", "/v1/runs".to_owned(), json!({"id": "work", "session_id": "s1"})),
        ("POST", "/v1/halts".to_owned(), json!({"scope": "all", "reason": "x"})),
        ("DELETE", format!("/v1/halts/{halt}"), json!({})),
        ("DELETE", format!("/v1/webhooks/{webhook}"), json!({})),
        ("PATCH", format!("/v1/webhooks/{webhook}"), json!({"disabled": true})),
        ("POST", format!("/v1/runs/{run}/steps"), json!({"key": "x", "state": "begun"})),
        ("POST", format!("/v1/runs/{run}/resume"), json!({})),
        ("POST", format!("/v1/runs/{run}/end"), json!({"status": "completed"})),
    ];
    for gate in [&gate, &of_other] {
        calls.extend([
            ("PATCH", format!("/v1/gates/{gate}"), json!({"summary": "Something harmless"})),
            ("POST", format!("/v1/gates/{gate}/cancel"), json!({"reason": "x"})),
            ("POST", format!("/v1/gates/{gate}/extend"), json!({"timeout_ms": 999_999_999})),
            ("POST", format!("/v1/gates/{gate}/approve"), json!({"digest": digest})),
            ("POST", format!("/v1/gates/{gate}/reject"), json!({"reason": "x"})),
            ("POST", format!("/v1/gates/{gate}/erase"), json!({"reason": "x"})),
        ]);
    }
    for question in [&question, &plain] {
        for verb in ["answer", "deny", "skip", "cancel", "acknowledge"] {
            let body = match verb {
                "answer" => json!({"answer": "approve"}),
                "acknowledge" => json!({}),
                _ => json!({"reason": "x"}),
            };
            calls.push(("POST", format!("/v1/questions/{question}/{verb}"), body));
        }
    }
    // Last, because nothing can be said of a run that is over.
    calls.push(("POST", format!("/v1/runs/{run}/end"), json!({"status": "failed", "reason": "x"})));
    for who in [AGENT, OTHER, "monitor"] {
        for (method, path, body) in &calls {
            if (who == OTHER && path.contains(&of_other)) || (who == "monitor" && path == "/v1/halts") {
                continue;
            }
            let answer = node.send(who, method, path, body.clone()).await;
            assert!(answer.status < 500, "{who} {method} {path}: {answer:?}");
            let said = format!("after {who} {method} {path}: {}", answer.status);
            for gate in [&gate, &of_other] {
                let gate = node.get("vera", &format!("/v1/gates/{gate}")).await.json();
                assert_eq!((&gate["status"], &gate["revision"]), (&json!("pending"), &json!(1)), "{said}");
            }
            let now = node.get("vera", &format!("/v1/gates/{gate}")).await.json();
            assert_eq!((&now["deadline"], &now["digest"]), (&content["deadline"], &content["digest"]), "{said}");
            for question in [&question, &plain] {
                assert_eq!(node.question("vera", question).await["status"], "pending", "{said}");
            }
            assert_eq!(node.blockers("worker", "s1").await, [question.clone(), halt.clone()], "{said}");
            let hook = node.get(ADMIN, &format!("/v1/webhooks/{webhook}")).await.json();
            assert_eq!(hook["disabled"], json!(false), "{said}: {hook}");
        }
    }
    node.verifies().await;
}

#[tokio::test]
async fn no_agent_speaks_in_a_persons_name() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let run = node.starts_own().await;
        for name in [ALICE, ADMIN, "vera"] {
            let calls = [
                ("/v1/questions".to_owned(), json!({"type": "EMERGENCY", "text": "x", "agent_id": name})),
                ("/v1/gates".to_owned(), json!({"summary": "x", "on_behalf_of": name})),
                (format!("/v1/runs/{run}/steps"), json!({"key": "x", "state": "begun", "agent_id": name})),
                ("/v1/runs".to_owned(), json!({"id": name})),
                ("/v1/gates".to_owned(), json!({"summary": "x", "run_id": name})),
            ];
            for (path, body) in calls {
                let refused = node.post(AGENT, &path, body).await;
                assert_eq!((refused.status, refused.code().as_str()), (403, "names_person"), "{path}: {refused:?}");
            }
            let team = json!([{"id": name, "role": "proposer"}, {"id": "b", "role": "critic"}]);
            let refused = node.post(AGENT, "/v1/debates", json!({"topic": "x", "agents": team})).await;
            assert_eq!((refused.status, refused.code().as_str()), (403, "names_person"), "{refused:?}");
        }
        assert_eq!(node.halt_status("vera").await["system_halted"], json!(false));
        // Names of agents, and of nobody, are what they were.
        for name in [AGENT, OTHER, "worker-7"] {
            open(node, AGENT, json!({"summary": "x", "on_behalf_of": name})).await;
        }
    }
}

#[tokio::test]
async fn a_person_is_not_barred_because_an_agent_used_their_name_before_and_a_lone_owner_is_never_locked_out() {
    let node = Node::start().await;
    let question = ask(&node, AGENT, json!({"type": "EMERGENCY", "text": "x", "agent_id": "dora"})).await;
    let token = node.post(ADMIN, "/v1/tokens", json!({"name": "dora", "role": "reviewer"})).await.json();
    let secret = token["token"].as_str().unwrap_or_else(|| panic!("{token}"));
    let path = format!("/v1/questions/{question}/answer");
    let answered = crate::http::send(&node.url, "POST", &path, secret, &[], r#"{"answer": "over"}"#).await;
    assert_eq!(answered.status, 200, "{answered:?}");

    let own = ask(&node, ADMIN, json!({"type": "EMERGENCY", "text": "x"})).await;
    assert_eq!(node.closes(ADMIN, &own, "cancel", json!({})).await.code(), "halts_asker");
    let closed = node.closes(ADMIN, &own, "cancel", json!({"reason": "there is nobody else"})).await;
    assert_eq!((closed.status, &closed.json()["status"]), (200, &json!("cancelled")), "{closed:?}");
    assert_eq!(node.halt_status("vera").await["system_halted"], json!(false));
}

#[tokio::test]
async fn reviewers_who_could_never_decide_are_refused_at_every_door() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        for reviewers in [json!(["ghost"]), json!([OTHER]), json!(["vera", ALICE])] {
            let calls = [
                ("/v1/gates", json!({"summary": "x", "reviewers": reviewers})),
                ("/v1/plans", json!({"goal": "x", "reviewers": reviewers})),
                (
                    "/v1/debates",
                    json!({"topic": "x", "gates": {"enabled": true, "gate_points": ["proposal"], "reviewers": reviewers}}),
                ),
                (
                    "/v1/runs",
                    json!({"workflow": "plan@1", "input": {
                        "goal": "x", "max_iterations": 2, "checkpoint_interval": 1, "reviewers": reviewers}}),
                ),
            ];
            for (path, body) in calls {
                for who in [AGENT, ALICE] {
                    let refused = node.post(who, path, body.clone()).await;
                    assert_eq!((refused.status, refused.code().as_str()), (422, "invalid"), "{path}: {refused:?}");
                    assert!(refused.body.contains("reviewers"), "{refused:?}");
                }
            }
        }
        open(node, AGENT, json!({"summary": "x", "reviewers": [ALICE, ADMIN]})).await;
    }
}

#[tokio::test]
async fn where_silence_consents_agents_choose_nobody_and_whoever_decides_may_object() {
    let policy = GatePolicy { on_timeout: OnTimeout::Approve, ..GatePolicy::default() };
    for nodes in everywhere_with(|| Setting { policy: policy.clone(), ..Setting::default() }).await {
        let node = &nodes[0];
        let choices = [
            json!({"reviewers": [ALICE]}),
            json!({"quorum": 2}),
            json!({"reject_quorum": 2}),
            json!({"on_behalf_of": OTHER}),
        ];
        for choice in choices {
            let mut body = choice;
            body["summary"] = json!("x");
            let refused = node.post(AGENT, "/v1/gates", body).await;
            assert_eq!((refused.status, refused.code().as_str()), (403, "weakens_policy"), "{refused:?}");
        }
        // A reviewer named others; still everybody who decides may say no, and nobody else yes.
        let gate = open(node, ALICE, json!({"summary": "x", "reviewers": ["bob"]})).await;
        let path = |verb: &str| format!("/v1/gates/{gate}/{verb}");
        assert_eq!(node.post("carol", &path("approve"), json!({})).await.code(), "not_a_reviewer");
        let rejected = node.post("carol", &path("reject"), json!({"reason": "no"})).await;
        assert_eq!((rejected.status, &rejected.json()["status"]), (200, &json!("rejected")), "{rejected:?}");
        // Content that changes faster than anybody reads it keeps nobody from saying no either;
        // from saying yes it does.
        let changing = open(node, AGENT, json!({"summary": "one"})).await;
        let path = |verb: &str| format!("/v1/gates/{changing}{verb}");
        let seen = node.get(ALICE, &path("")).await.json()["digest"].clone();
        assert_eq!(node.send(AGENT, "PATCH", &path(""), json!({"summary": "two"})).await.status, 200);
        let stale = json!({"reason": "no", "digest": seen});
        assert_eq!(node.post(ALICE, &path("/approve"), stale.clone()).await.code(), "stale_digest");
        let rejected = node.post(ALICE, &path("/reject"), stale).await;
        assert_eq!((rejected.status, &rejected.json()["status"]), (200, &json!("rejected")), "{rejected:?}");
    }
    // By force an admin also rejects.
    let node = Node::start().await;
    let gate = open(&node, AGENT, json!({"summary": "x", "reviewers": [ALICE, "bob"], "quorum": 2})).await;
    let body = json!({"reason": "not like this", "force": true});
    let rejected = node.post(ADMIN, &format!("/v1/gates/{gate}/reject"), body).await;
    assert_eq!((rejected.status, &rejected.json()["status"]), (200, &json!("rejected")), "{rejected:?}");
}

#[tokio::test]
async fn nobody_reads_answers_that_are_not_theirs() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        for kind in ["APPROVAL", "EMERGENCY", "BLOCKING"] {
            let body = json!({"type": kind, "text": "x", "agent_id": "worker", "session_id": "s1"});
            let question = ask(node, AGENT, body).await;
            // Somebody who waits meanwhile is released, and no more.
            let waiting = {
                let url = node.url.clone();
                tokio::spawn(async move { crate::halting::waited(&url, OTHER, "other", "s1", 20_000).await })
            };
            tokio::time::sleep(Duration::from_millis(80)).await;
            let body = json!({"answer": "approve", "reason": "the key is in the safe"});
            assert_eq!(node.closes(ALICE, &question, "answer", body).await.status, 200);
            let waited = waiting.await.unwrap();
            assert_eq!((&waited["cleared"], &waited["answers"]), (&json!(true), &json!([])), "{kind}: {waited}");
            for agent in ["worker", "other"] {
                let later = crate::halting::waited(&node.url, OTHER, agent, "s1", 1).await;
                assert_eq!(later["answers"], json!([]), "{kind}: {later}");
            }
            let own = crate::halting::waited(&node.url, AGENT, "worker", "s1", 1).await;
            assert_eq!(own["answers"][0]["question_id"], json!(question), "{kind}: {own}");
            let log = serde_json::to_string(&node.log(OTHER).await).unwrap();
            assert!(!log.contains("safe") && !log.contains(r#""answer":"approve""#), "{kind}: {log}");
        }
    }
}

#[tokio::test]
async fn the_other_agents_of_a_halted_session_see_that_it_is_halted() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        assert_eq!(first.post(OTHER, "/v1/runs", json!({"session_id": "s1"})).await.status, 201);
        let question = ask(first, AGENT, json!({"type": "APPROVAL", "text": "x", "session_id": "s1"})).await;
        let elsewhere = ask(first, AGENT, json!({"type": "APPROVAL", "text": "x", "session_id": "s2"})).await;
        covered(&nodes, "other", "s1", &[&question]).await;
        let status = last.halt_status(OTHER).await;
        assert_eq!(status["halted_sessions"], json!(["s1"]), "{status}");
        assert_eq!(ids(&status["held_by"]["sessions"]["s1"]), std::slice::from_ref(&question));
        let seen = |log: &[Value]| kinds(log.iter().filter(|entry| entry["stream"] == json!(question)));
        assert_eq!(seen(&first.log(OTHER).await), ["session.halted"]);
        first.answers(&question, "approve").await;
        let log = first.log(OTHER).await;
        assert_eq!(seen(&log), ["session.halted", "session.resumed"]);
        assert!(log.iter().all(|entry| entry["stream"] != json!(elsewhere)), "{log:?}");
    }
}

#[tokio::test]
async fn a_second_click_does_not_decide_on_the_next_gate_of_a_debate() {
    let node = Node::start().await;
    let gates = debates::gates(&["proposal", "convergence"]);
    let debate = debates::start(&node, json!({"gates": gates})).await;
    let first = debates::waits(&node, &debate, "").await;
    let path = format!("/v1/debates/{debate}/approve");
    assert_eq!(debates::refused(&node.post(ALICE, &path, json!({})).await), (422, "gate_required".to_owned()));
    let digest = node.get(ALICE, &format!("/v1/gates/{first}")).await.json()["digest"].clone();
    let click = json!({"request_id": first, "reason": "fine"});
    assert_eq!(node.post(ALICE, &path, click.clone()).await.status, 200);
    let second = debates::waits(&node, &debate, &first).await;
    // Bob saw the first gate, and clicks a moment later.
    assert_eq!(node.post("bob", &path, click).await.code(), "gate_decided");
    assert_eq!(node.post("bob", &path, json!({"digest": digest})).await.code(), "stale_digest");
    assert_eq!(status(&node, &format!("/v1/gates/{second}")).await, "pending");
    let other = open(&node, AGENT, json!({"summary": "x", "run_id": debate})).await;
    assert_eq!(node.post("bob", &path, json!({"request_id": other})).await.code(), "unknown_gate");
    let path = format!("/v1/gates/{second}/approve");
    assert_eq!(node.post("bob", &path, json!({"request_id": first})).await.code(), "invalid");
    assert_eq!(node.post("bob", &path, json!({"request_id": second})).await.status, 200);
}

#[tokio::test]
async fn what_was_changed_is_decided_only_with_the_digest_of_what_was_seen() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let gate = open(node, AGENT, json!({"summary": "Delete the log file"})).await;
        let path = format!("/v1/gates/{gate}");
        assert_eq!(node.send(AGENT, "PATCH", &path, json!({"summary": "Delete the database"})).await.status, 200);
        for (verb, body) in [("approve", json!({})), ("reject", json!({"reason": "no"}))] {
            let blind = node.post(ALICE, &format!("{path}/{verb}"), body).await;
            assert_eq!((blind.status, blind.code().as_str()), (422, "digest_required"), "{blind:?}");
        }
        let digest = node.get(ALICE, &path).await.json()["digest"].clone();
        assert_eq!(node.post(ALICE, &format!("{path}/approve"), json!({"digest": digest})).await.status, 200);
    }
}

#[tokio::test]
async fn a_run_that_an_agent_executes_does_not_pass_the_gate_that_stopped_it() {
    for nodes in everywhere().await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        let run = node.starts_own().await;
        let ship = json!({"key": "ship", "state": "begun"});
        let gate = open(node, AGENT, json!({"summary": "Ship", "run_id": run})).await;
        let no = json!({"reason": "not on a Friday"});
        assert_eq!(node.post(ALICE, &format!("/v1/gates/{gate}/reject"), no).await.status, 200);
        let held = last.records(&run, ship.clone()).await;
        assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{held:?}");
        assert!(held.body.contains(&gate) && held.body.contains("rejected"), "{held:?}");
        let held = last.to_run(AGENT, &run, "end", json!({"status": "completed"})).await;
        assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{held:?}");
        // It may ask again, and goes on when somebody says yes to that.
        let again = open(last, AGENT, json!({"summary": "Ship on Monday", "run_id": run})).await;
        assert_eq!(last.records(&run, ship.clone()).await.code(), "gate_pending");
        assert_eq!(node.post(ALICE, &format!("/v1/gates/{again}/approve"), json!({})).await.status, 200);
        assert_eq!(last.records(&run, ship).await.status, 201);
        node.verifies().await;
    }
}

#[tokio::test]
async fn a_run_that_an_agent_executes_does_not_pass_a_gate_that_others_cancelled_or_sent_back() {
    for nodes in everywhere().await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        for (verb, body) in [("cancel", json!({"reason": "no"})), ("adjust", json!({"feedback": "not like this"}))] {
            for asker in [AGENT, "alice"] {
                let run = node.starts_own().await;
                let gate = open(node, asker, json!({"summary": "Ship", "kind": "proposal", "run_id": run})).await;
                let said = node.post("bob", &format!("/v1/gates/{gate}/{verb}"), body.clone()).await;
                assert_eq!(said.status, 200, "{said:?}");
                let begun = last.records(&run, json!({"key": "ship", "state": "begun"})).await;
                match verb {
                    "cancel" => assert_eq!((begun.status, begun.code().as_str()), (409, "gate_stopped"), "{begun:?}"),
                    // What was sent back may be worked on.
                    _ => assert_eq!(last.records(&run, json!({"key": "ship", "state": "done"})).await.status, 201),
                }
                let held = last.to_run(AGENT, &run, "end", json!({"status": "completed"})).await;
                assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{verb}, {asker}: {held:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_repeated_request_is_not_told_to_begin_what_people_have_stopped_since() {
    for nodes in everywhere().await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        for kind in ["step", "once"] {
            let run = node.starts_own().await;
            let begins = async |node: &Node| {
                let body = json!({"key": "ship", "kind": kind, "state": "begun"}).to_string();
                let path = format!("/v1/runs/{run}/steps");
                let headers = [("idempotency-key", run.as_str())];
                crate::http::send(&node.url, "POST", &path, &crate::node::token(AGENT), &headers, &body).await
            };
            assert_eq!(begins(node).await.status, 201);
            assert_eq!(begins(last).await.status, 201, "its answer may have been lost");
            let gate = open(node, AGENT, json!({"summary": "Ship", "run_id": run})).await;
            let no = node.post(ALICE, &format!("/v1/gates/{gate}/reject"), json!({"reason": "no"})).await;
            assert_eq!(no.status, 200, "{no:?}");
            // What it opens and withdraws after that hides no decision, however long it is.
            for _ in 0..20 {
                let noise = open(node, AGENT, json!({"summary": "x".repeat(250_000), "run_id": run})).await;
                let withdrawn = node.post(AGENT, &format!("/v1/gates/{noise}/cancel"), json!({})).await;
                assert_eq!(withdrawn.status, 200, "{withdrawn:?}");
            }
            let held = begins(last).await;
            assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{kind}: {held:?}");
        }
    }
}

/// It would look as if it held the plan, and would hold nothing.
#[tokio::test]
async fn a_person_opens_no_gate_in_a_run_that_would_not_wait_for_it() {
    let node = Node::start().await;
    let plan = node.post(AGENT, "/v1/plans", json!({"goal": "Open a bakery"})).await.json()["id"].clone();
    let refused = node.post(ALICE, "/v1/gates", json!({"summary": "Wait", "run_id": plan})).await;
    assert_eq!((refused.status, refused.code().as_str()), (422, "invalid"), "{refused:?}");
    assert!(refused.body.contains("halt"), "it says what stops it: {refused:?}");
}

#[tokio::test]
async fn an_agent_takes_back_no_question_that_others_asked_for_it() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        for asker in [ALICE, OTHER] {
            let ask = json!({"type": "DECISION", "text": "Which region?", "agent_id": AGENT});
            let question = node.post(asker, "/v1/questions", ask).await.json()["id"].as_str().unwrap().to_owned();
            for verb in ["cancel", "skip"] {
                let refused = node.post(AGENT, &format!("/v1/questions/{question}/{verb}"), json!({})).await;
                assert_eq!(refused.status, 403, "{asker}, {verb}: {refused:?}");
            }
            assert_eq!(node.question("vera", &question).await["status"], "pending");
        }
    }
}

#[tokio::test]
async fn nobody_works_for_a_halted_agent() {
    for nodes in everywhere().await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        let run = node.starts_own().await;
        assert_eq!(node.records(&run, json!({"key": "begun", "state": "begun"})).await.status, 201);
        let halt = json!({"scope": "agent", "agent_id": "agent-a", "reason": "look first"});
        let halt = node.post("root-of-all", "/v1/halts", halt).await.json()["id"].as_str().unwrap().to_owned();
        for state in ["begun", "done"] {
            let held = last.records(&run, json!({"key": "new", "state": state})).await;
            assert_eq!((held.status, held.code().as_str()), (409, "halted"), "{state}: {held:?}");
        }
        // What it did before it was halted can be told.
        assert_eq!(last.records(&run, json!({"key": "begun", "state": "done"})).await.status, 201);
        // What it starts waits with it, although a plan has agents of its own.
        let plan = last.post(AGENT, "/v1/plans", json!({"goal": "Open a bakery"})).await.json();
        let plan = plan["id"].as_str().unwrap();
        last.until(plan, |run| run["halted_by"] == json!([halt])).await;
        assert_eq!(last.journal_of(plan).await, Vec::<Value>::new());
        assert_eq!(node.send("root-of-all", "DELETE", &format!("/v1/halts/{halt}"), json!({})).await.status, 200);
        last.until(plan, |run| run["waiting_at"]["gates"][0].is_string()).await;
    }
}

#[tokio::test]
async fn a_run_that_an_agent_executes_does_not_pass_its_undecided_gate() {
    for nodes in everywhere().await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        let run = node.starts_own().await;
        let step = |key: &str, state: &str| json!({"key": key, "state": state});
        assert_eq!(node.records(&run, step("approval", "begun")).await.status, 201);
        let gate = open(node, AGENT, json!({"summary": "Ship", "risk": "critical", "run_id": run})).await;
        for body in [step("ship", "begun"), step("ship", "done")] {
            let held = last.records(&run, body).await;
            assert_eq!((held.status, held.code().as_str()), (409, "gate_pending"), "{held:?}");
            assert!(held.body.contains(&gate), "{held:?}");
        }
        // A script that was killed while it waited begins the same step again, and waits again.
        assert_eq!(last.records(&run, step("approval", "begun")).await.status, 201);
        assert_eq!(last.records(&run, step("approval", "done")).await.status, 201);
        let completed = json!({"status": "completed"});
        let held = last.to_run(AGENT, &run, "end", completed.clone()).await;
        assert_eq!((held.status, held.code().as_str()), (409, "gate_pending"), "{held:?}");
        let digest = node.get(ALICE, &format!("/v1/gates/{gate}")).await.json()["digest"].clone();
        let approved = node.post(ALICE, &format!("/v1/gates/{gate}/approve"), json!({"digest": digest})).await;
        assert_eq!(approved.status, 200, "{approved:?}");
        assert_eq!(last.records(&run, step("ship", "begun")).await.status, 201);
        assert_eq!(last.records(&run, step("ship", "done")).await.status, 201);
        assert_eq!(last.to_run(AGENT, &run, "end", completed).await.status, 200);
        // Failing is always possible.
        let failing = node.starts_own().await;
        open(node, AGENT, json!({"summary": "x", "run_id": failing})).await;
        let failed = node.to_run(AGENT, &failing, "end", json!({"status": "failed", "reason": "no"})).await;
        assert_eq!(failed.status, 200, "{failed:?}");
        node.verifies().await;
    }
}

#[tokio::test]
async fn gates_that_an_agent_opens_in_its_plan_hide_none_of_the_plans_own() {
    let node = Node::start().await;
    let asked = plans::plan(&node, 2, 1).await;
    let run = plans::session(&asked);
    let debate = debates::start(&node, json!({"gates": debates::gates(&["proposal"])})).await;
    let gate = debates::waits(&node, &debate, "").await;
    for run in [run, &debate] {
        for n in 0..201 {
            open(&node, AGENT, json!({"summary": format!("{n}"), "risk": "critical", "run_id": run})).await;
        }
    }
    let plan = node.get(ALICE, &format!("/v1/plans/{run}")).await.json();
    assert_eq!(plan["status"], "awaiting_approval", "{plan}");
    assert_eq!(debates::waits(&node, &debate, "").await, gate);
}

#[tokio::test]
async fn a_get_of_a_denial_changes_nothing_and_its_asker_acknowledges_it() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let question = node.asks("worker", "s1", "APPROVAL").await;
        node.says(&question, "deny").await;
        let head = node.log("vera").await.len();
        for path in [format!("/v1/questions/{question}"), format!("/v1/questions/{question}/wait?timeout_ms=1")] {
            assert_eq!(node.get(AGENT, &path).await.json()["status"], "denied");
        }
        let waited = node.waited("worker", "s1", 1).await;
        assert_eq!((&waited["cleared"], &waited["reason"]), (&json!(false), &json!("denied")), "{waited}");
        assert_eq!(node.log("vera").await.len(), head, "a GET never changes anything");
        covered(&nodes, "worker", "s1", &[&question]).await;
        let path = format!("/v1/questions/{question}/acknowledge");
        assert_eq!(node.post(OTHER, &path, json!({})).await.code(), "unknown_question");
        assert_eq!(node.post("vera", &path, json!({})).await.status, 200, "and changes nothing");
        covered(&nodes, "worker", "s1", &[&question]).await;
        let heard = node.post(AGENT, &path, json!({})).await;
        assert_eq!(heard.status, 200, "{heard:?}");
        covered(&nodes, "worker", "s1", &[]).await;
    }
}

#[tokio::test]
async fn a_denial_that_nobody_reads_stops_no_plan_and_a_reviewer_releases_it() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let question = ask(node, OTHER, json!({"type": "APPROVAL", "text": "x", "agent_id": "planner"})).await;
        node.says(&question, "deny").await;
        let asked = plans::plan(node, 2, 1).await;
        assert_eq!(asked["status"], "awaiting_approval", "the planner works: {asked}");
        covered(&nodes, "planner", "", &[&question]).await;
        let late = node.closes("bob", &question, "cancel", json!({"reason": "its asker is gone"})).await;
        assert_eq!((late.status, late.code().as_str()), (409, "question_closed"), "{late:?}");
        assert!(late.body.contains("acknowledge"), "it says how to release the asker: {late:?}");
        let released = node.closes("bob", &question, "acknowledge", json!({"reason": "its asker is gone"})).await;
        assert_eq!((released.status, &released.json()["status"]), (200, &json!("denied")), "{released:?}");
        covered(&nodes, "planner", "", &[]).await;
        let waited = crate::halting::waited(&node.url, OTHER, "planner", "", 1).await;
        assert_eq!((&waited["cleared"], &waited["reason"]), (&json!(true), &json!("cancelled")), "{waited}");
        node.verifies().await;
    }
}

#[tokio::test]
async fn a_halted_plan_looks_halted_and_goes_on_when_the_halt_is_lifted() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let halt = node.halts(json!({"scope": "agent", "agent_id": "planner"})).await;
        covered(&nodes, "planner", "", &[&halt]).await;
        let body = json!({"goal": "Open a second bakery", "max_iterations": 1});
        let plan = node.post(AGENT, "/v1/plans", body).await;
        assert!(plan.status < 300, "{plan:?}");
        let run = id(&plan.json());
        let parked = node.until(&run, |run| run["status"] == "parked" && run["halted_by"] == json!([halt])).await;
        assert_eq!(parked["halted_by"], json!([halt]));
        let shown = node.get(ALICE, &format!("/v1/plans/{run}")).await.json();
        assert_eq!(shown["halted_by"], json!([halt]), "{shown}");
        assert!(shown["message"].as_str().unwrap().contains("Halted by"), "{shown}");
        let list = node.get(ALICE, "/v1/plans").await.json();
        assert_eq!(list["plans"][0]["halted_by"], json!([halt]), "{list}");
        let runs = node.get(ALICE, "/v1/runs").await.json();
        assert_eq!(runs["runs"][0]["halted_by"], json!([halt]), "{runs}");
        node.lifts(&halt).await;
        let done = node.until_is(&run, "completed").await;
        assert!(done.get("halted_by").is_none(), "{done}");
    }
}

#[tokio::test]
async fn who_may_not_begin_a_step_is_told_the_command_that_waits() {
    let node = Node::start().await;
    let run = id(&node.started(json!({"session_id": "s1"})).await);
    node.halts(json!({"scope": "session", "session_id": "s1"})).await;
    let halted = node.records(&run, json!({"key": "x", "state": "begun"})).await;
    assert_eq!((halted.status, halted.code().as_str()), (409, "halted"), "{halted:?}");
    let command = format!("folkmoot clear {AGENT} --session s1");
    assert!(halted.json()["detail"].as_str().unwrap().contains(&command), "{halted:?}");
}

#[tokio::test]
async fn a_halted_agent_does_not_work_under_another_name() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let run = id(&node.started(json!({"session_id": "s1"})).await);
        node.halts(json!({"scope": "agent", "agent_id": AGENT})).await;
        for body in [json!({"key": "x", "state": "begun"}), json!({"key": "y", "state": "begun", "agent_id": "helper"})]
        {
            let halted = node.records(&run, body).await;
            assert_eq!((halted.status, halted.code().as_str()), (409, "halted"), "{halted:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_reads_why_it_is_halted_and_not_why_another_is() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let started = node.post(OTHER, "/v1/runs", json!({"session_id": "theirs"})).await;
        assert_eq!(started.status, 201, "{started:?}");
        node.halts(json!({"scope": "agent", "agent_id": OTHER})).await;
        node.halts(json!({"scope": "session", "session_id": "theirs"})).await;
        let asked = format!("agent_id={OTHER}&session_id=theirs&timeout_ms=1");
        for path in [format!("/v1/clearance?{asked}"), format!("/v1/clearance/wait?{asked}")] {
            for (who, reasons) in [(AGENT, 0), (OTHER, 2), (ALICE, 2), (ADMIN, 2)] {
                let told = node.get(who, &path).await;
                // Whoever asks on behalf of another learns that it may not work.
                assert_eq!(told.json()["blocked_by"].as_array().unwrap().len(), 2, "{who}: {told:?}");
                assert_eq!(told.body.matches("stop it").count(), reasons, "{who} {path}: {told:?}");
            }
        }
    }
}

/// A gate is rejected by two.
fn two_reject() -> Setting {
    Setting { policy: GatePolicy { reject_quorum: 2, ..GatePolicy::default() }, ..Setting::default() }
}

#[tokio::test]
async fn a_run_that_an_agent_executes_does_not_pass_a_gate_that_it_withdrew() {
    for nodes in everywhere_with(two_reject).await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        let run = node.starts_own().await;
        let ship = json!({"key": "ship", "state": "begun"});
        let gate = open(node, AGENT, json!({"summary": "Ship", "run_id": run, "quorum": 2})).await;
        let no = node.post(ALICE, &format!("/v1/gates/{gate}/reject"), json!({"reason": "no"})).await;
        assert_eq!((no.status, no.json()["status"].as_str()), (200, Some("pending")), "{no:?}");
        let withdrawn = last.post(AGENT, &format!("/v1/gates/{gate}/cancel"), json!({})).await;
        assert_eq!(withdrawn.status, 200, "{withdrawn:?}");
        let held = last.records(&run, ship.clone()).await;
        assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{held:?}");
        let held = last.to_run(AGENT, &run, "end", json!({"status": "completed"})).await;
        assert_eq!((held.status, held.code().as_str()), (409, "gate_stopped"), "{held:?}");
        let again = open(last, AGENT, json!({"summary": "Ship on Monday", "run_id": run})).await;
        assert_eq!(node.post(ALICE, &format!("/v1/gates/{again}/approve"), json!({})).await.status, 200);
        assert_eq!(last.records(&run, ship).await.status, 201);
        node.verifies().await;
    }
}

#[tokio::test]
async fn a_dedupe_key_returns_the_gate_of_the_same_request_and_of_no_other() {
    for nodes in everywhere_with(two_reject).await {
        let (node, last) = (&nodes[0], nodes.last().unwrap());
        let (run, other) = (node.starts_own().await, node.starts_own().await);
        let asked = json!({
            "summary": "Ship", "run_id": run, "dedupe_key": "ship", "timeout_ms": 600_000,
            "on_behalf_of": "builder"
        });
        let gate = open(node, AGENT, asked.clone()).await;
        let again = last.post(AGENT, "/v1/gates", asked.clone()).await;
        assert_eq!((again.status, id(&again.json())), (200, gate.clone()), "{again:?}");
        for (field, value) in [
            ("run_id", json!(other)),
            ("self_review", json!("deny")),
            ("reject_quorum", json!(1)),
            ("timeout_ms", json!(5_000)),
            ("on_behalf_of", json!("deployer")),
        ] {
            let mut changed = asked.clone();
            changed[field] = value;
            let refused = last.post(AGENT, "/v1/gates", changed).await;
            assert_eq!((refused.status, refused.code().as_str()), (409, "dedupe_conflict"), "{field}: {refused:?}");
        }
        let in_session = |session: &str| json!({"summary": "x", "dedupe_key": "s", "session_id": session});
        open(node, AGENT, in_session("s1")).await;
        assert_eq!(last.post(AGENT, "/v1/gates", in_session("s2")).await.code(), "dedupe_conflict");
        assert_eq!(last.post(AGENT, "/v1/gates", in_session("s1")).await.status, 200);
        // What the gate was given later makes the request no other one.
        let more = node.post(ALICE, &format!("/v1/gates/{gate}/extend"), json!({"timeout_ms": 900_000})).await;
        assert_eq!(more.status, 200, "{more:?}");
        assert_eq!(last.post(AGENT, "/v1/gates", asked).await.status, 200);
    }
}

#[tokio::test]
async fn no_name_that_differs_from_a_persons_only_in_case_is_taken() {
    for nodes in everywhere().await {
        let node = &nodes[0];
        let question = json!({"type": "CLARIFYING", "text": "x", "agent_id": "ALICE"});
        for (path, body) in [
            ("/v1/gates", json!({"summary": "x", "on_behalf_of": "Alice"})),
            ("/v1/gates", json!({"summary": "x", "run_id": "Alice"})),
            ("/v1/questions", question),
            ("/v1/runs", json!({"id": "Alice"})),
        ] {
            let refused = node.post(AGENT, path, body).await;
            assert_eq!(refused.code(), "names_person", "{path}: {refused:?}");
        }
        let minted = node.post(ADMIN, "/v1/tokens", json!({"name": "Alice", "role": "agent"})).await;
        assert_eq!(minted.code(), "role_taken", "{minted:?}");
        assert_eq!(node.post(AGENT, "/v1/runs", json!({"id": "Alison"})).await.status, 201);
    }
}
