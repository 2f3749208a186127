//! `/v1/debates`: what is started, seen, stopped and decided, and by whom. The defects of the
//! source system are tests here.

use folkmoot_core::gate::{GatePolicy, OnTimeout};

use super::*;
use crate::{
    http,
    node::{Setting, everywhere, token},
};

/// From the question to the verdict, with two gates, on each database; all that can be asked of it
/// answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debate_pauses_at_its_gates_and_goes_on_when_somebody_lets_it() {
    for nodes in everywhere().await {
        let (node, other) = (&nodes[0], nodes.last().unwrap());
        let body = json!({
            "topic": TOPIC, "preset": "economy", "early_agreement": false, "agents": 3, "max_rounds": 1,
            "gates": gates(&["proposal", "convergence"]),
        });
        let started = node.post(AGENT, "/v1/debates", body).await;
        assert_eq!(started.status, 202, "{started:?}");
        let told = started.json();
        let id = told["id"].as_str().unwrap();
        assert!(started.head.contains(&format!("location: /v1/debates/{id}")), "{}", started.head);
        let session = told["session_id"].as_str().unwrap();
        assert_eq!((session.len(), session.matches('-').count()), (36, 4), "a UUID: {session}");
        assert_eq!(told["status"], "pending");

        let proposal = waits(other, id, "").await;
        let paused = show(other, id).await;
        assert_eq!(
            (&paused["status"], &paused["phase"], &paused["round"], &paused["waiting_at"], &paused["session_id"]),
            (&json!("paused"), &json!("proposal"), &json!(1), &json!(proposal), &json!(session)),
        );
        assert_eq!((&paused["topic"], &paused["initiated_by"]), (&json!(TOPIC), &json!(AGENT)));
        assert_eq!(paused["config"]["min_consensus"], 0.75, "as people write it: {paused:#}");
        let early = node.get(AGENT, &format!("/v1/debates/{id}/results")).await;
        assert_eq!(refused(&early), (409, "debate_not_finished".to_owned()));

        let approved = ok(decide(other, id, "approve", json!({ "reason": "go on" })).await);
        assert_eq!((&approved["id"], &approved["status"]), (&json!(proposal), &json!("approved")));
        assert_eq!(approved["decision"]["reviewer"], ALICE);
        let last = waits(node, id, &proposal).await;
        ok(node.post(ALICE, &format!("/v1/gates/{last}/approve"), json!({})).await);

        let debate = over(node, id).await;
        assert_eq!((&debate["status"], &debate["total_rounds"]), (&json!("completed"), &json!(1)), "{debate:#}");
        assert_eq!((&debate["waiting_at"], &debate["fault"]), (&Value::Null, &Value::Null));
        assert_eq!(debate["topology_type"], "graph_mesh");
        let results = ok(node.get(AGENT, &format!("/v1/debates/{id}/results")).await);
        assert_eq!(results["verdict"], debate["outcome"], "the row says what the result says");
        assert!(results["verdict"]["winner"].is_string(), "{results:#}");
        assert!(results["verdict"]["consensus"].as_f64().unwrap() <= 1.0);
        assert!(results["cost"]["tokens"].as_u64().unwrap() > 0);
        assert_eq!(results["providers"], json!(["rehearsal"]));

        let votes = ok(node.get(AGENT, &format!("/v1/debates/{id}/votes")).await);
        assert_eq!(votes["votes"].as_array().unwrap().len(), 3, "{votes:#}");
        assert_eq!(votes["verdict"], results["verdict"]);
        let listed = ok(node.get(ALICE, &format!("/v1/debates/{id}/gates")).await);
        let listed: Vec<&str> =
            listed["gates"].as_array().unwrap().iter().map(|gate| gate["id"].as_str().unwrap()).collect();
        assert_eq!(listed, [&last, &proposal]);
        assert_eq!(ok(node.get(ALICE, &format!("/v1/debates/{id}/gates?status=pending")).await)["gates"], json!([]));
        let found = ok(node.get(ALICE, "/v1/debates?status=completed").await);
        assert_eq!(found["debates"][0]["id"], *id);
        assert_eq!(ok(node.get(ALICE, "/v1/debates?status=paused").await)["debates"], json!([]));
        node.verifies().await;
    }
}

/// In the source, approve changed a word and reject worked in any state, even after the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_decided_where_nothing_waits() {
    let node = Node::start().await;
    let id = start(&node, json!({})).await;
    let debate = over(&node, &id).await;
    for verb in ["approve", "reject"] {
        let answer = node.post(ALICE, &format!("/v1/debates/{id}/{verb}"), json!({ "reason": "late" })).await;
        assert_eq!(refused(&answer), (409, "no_gate_pending".to_owned()));
        let keyed = format!("/v1/debates/{id}/{verb}");
        let headers = [("idempotency-key", "late")];
        let answer = http::send(&node.url, "POST", &keyed, &token(ALICE), &headers, r#"{"reason":"late"}"#).await;
        assert_eq!(refused(&answer).0, 409);
    }
    assert_eq!(show(&node, &id).await, debate, "and nothing has changed");
}

/// In the source, a rejection stopped nothing, and its status was one that the database refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejection_ends_a_debate_and_nothing_is_said_after_it() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let gate = waits(&node, &id, "").await;
    assert_eq!(refused(&decide(&node, &id, "reject", json!({})).await), (422, "reason_required".to_owned()));
    ok(decide(&node, &id, "reject", json!({ "reason": "all of them are wrong" })).await);
    let debate = over(&node, &id).await;
    assert_eq!(
        (&debate["status"], &debate["fault"]["code"]),
        (&json!("failed"), &json!("gate_rejected")),
        "{debate:#}"
    );
    assert!(debate["fault"]["message"].as_str().unwrap().contains("all of them are wrong"));
    assert!(turns(&node, &id, "&phase=convergence").await.is_empty());
    let results = node.get(AGENT, &format!("/v1/debates/{id}/results")).await;
    assert_eq!(refused(&results), (409, "debate_without_result".to_owned()));
    let gate = ok(node.get(ALICE, &format!("/v1/gates/{gate}")).await);
    assert_eq!(gate["status"], "rejected");
}

/// In the source, DELETE forgot a debate that went on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_debate_that_is_deleted_is_cancelled_and_its_gate_with_it() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let gate = waits(&node, &id, "").await;
    let path = format!("/v1/debates/{id}?reason=not%20needed");
    assert_eq!(refused(&node.send("vera", "DELETE", &path, json!({})).await).0, 403);
    assert_eq!(refused(&node.send("agent-b", "DELETE", &path, json!({})).await), (404, "unknown_run".to_owned()));
    let cancelled = ok(node.send(AGENT, "DELETE", &path, json!({})).await);
    assert_eq!((&cancelled["status"], &cancelled["fault"]["code"]), (&json!("cancelled"), &json!("cancelled")));
    assert!(cancelled["fault"]["message"].as_str().unwrap().contains("not needed"), "{cancelled:#}");
    assert_eq!(refused(&node.send(AGENT, "DELETE", &path, json!({})).await), (409, "run_ended".to_owned()));
    assert_eq!(ok(node.get(ALICE, &format!("/v1/gates/{gate}")).await)["status"], "cancelled");
    let late = decide(&node, &id, "approve", json!({})).await;
    assert_eq!(refused(&late), (409, "no_gate_pending".to_owned()));
    assert!(turns(&node, &id, "&phase=convergence").await.is_empty(), "what was said stays, and no more is said");
    assert!(!turns(&node, &id, "&phase=proposal").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_debate_and_reviewers_decide() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    waits(&node, &id, "").await;
    let path = format!("/v1/debates/{id}/approve");
    assert_eq!(refused(&node.post(AGENT, &path, json!({})).await), (403, "role_may_not".to_owned()));
    assert_eq!(refused(&node.post("vera", &path, json!({})).await), (403, "role_may_not".to_owned()));
    assert_eq!(refused(&node.post("agent-b", &path, json!({})).await), (404, "unknown_run".to_owned()));
    let claims = decide(&node, &id, "approve", json!({ "reviewer": "bob" })).await;
    assert_eq!(refused(&claims), (403, "not_you".to_owned()));
    assert_eq!(refused(&node.post("vera", "/v1/debates", json!({ "topic": TOPIC })).await).0, 403);
    assert_eq!(show(&node, &id).await["status"], "paused", "it still waits");
    ok(decide(&node, &id, "approve", json!({ "reviewer": ALICE })).await);
    assert_eq!(over(&node, &id).await["status"], "completed");
    // Another agent sees nothing of it.
    assert_eq!(ok(node.get("agent-b", "/v1/debates").await)["debates"], json!([]));
    assert_eq!(node.get("agent-b", &format!("/v1/debates/{id}/turns")).await.code(), "unknown_run");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_weaken_the_policy_nor_reach_into_a_repository() {
    let policy =
        GatePolicy { reviewers: vec![ALICE.parse().unwrap(), "bob".parse().unwrap()], ..GatePolicy::default() };
    let node = Node::with(Setting { policy, ..Setting::default() }).await;
    let weaker = [
        json!({ "on_timeout": "approve" }),
        json!({ "reviewers": ["carol"] }),
        // A no that changes nothing is no gate.
        json!({ "on_rejected": "continue" }),
    ];
    for more in weaker {
        let mut asked = gates(&["proposal"]);
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({ "topic": TOPIC, "preset": "quick", "gates": asked });
        assert_eq!(refused(&node.post(AGENT, "/v1/debates", body.clone()).await), (403, "weakens_policy".to_owned()));
        // Whoever decides may, and knows what it means.
        assert_eq!(node.post("bob", "/v1/debates", body).await.status, 202, "{more}");
    }
    let repository = json!({ "topic": TOPIC, "preset": "quick", "language": "python", "repository": "/nowhere" });
    let answer = node.post(AGENT, "/v1/debates", repository.clone()).await;
    assert_eq!(refused(&answer), (403, "role_may_not".to_owned()));
    let answer = node.post(ALICE, "/v1/debates", repository).await;
    assert_eq!(refused(&answer), (422, "invalid".to_owned()), "it is hers to say, but there is none");
    // Nor around the door.
    let config = show(&node, &start_as(&node, "bob", json!({})).await).await["config"].clone();
    assert!(config.is_null() || config.is_object());
    let count = ok(node.get(ALICE, "/v1/debates").await)["debates"].as_array().unwrap().len();
    let mut input = around();
    input["repository"] = json!("/nowhere");
    input["language"] = json!("python");
    let body = json!({ "workflow": "debate@1", "input": input });
    assert_eq!(refused(&node.post(AGENT, "/v1/runs", body).await), (403, "role_may_not".to_owned()));
    let mut input = around();
    input["gates"]["on_timeout"] = json!(OnTimeout::Approve);
    let body = json!({ "workflow": "debate@1", "input": input });
    assert_eq!(refused(&node.post(AGENT, "/v1/runs", body).await), (403, "weakens_policy".to_owned()));
    let started = node.post(AGENT, "/v1/runs", json!({ "workflow": "debate@1", "input": around() })).await;
    assert_eq!(started.status, 201, "but for that it would have been taken: {started:?}");
    let now = ok(node.get(ALICE, "/v1/debates").await)["debates"].as_array().unwrap().len();
    assert_eq!(now, count + 1, "of the three that were tried, one was started");
}

/// What the workflow is given, as whoever starts it by its name has to write it.
fn around() -> Value {
    use folkmoot_debate::agent::{Domain, Team};
    use folkmoot_server::workflows::debate::Preset;
    let team = Team::build(2, Domain::General, &[]).unwrap();
    serde_json::to_value(Preset::Quick.debate(TOPIC.to_owned(), team)).unwrap()
}

/// Whoever started a debate can open gates in its run. They are not the debate's, whatever they
/// look like.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_put_another_gate_before_the_reviewer() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["proposal"]) })).await;
    let own = waits(&node, &id, "").await;
    let forged = json!({ "run_id": id, "phase": "proposal", "kind": "phase", "risk": "low", "summary": "Harmless" });
    let forged = node.opened(forged).await["id"].as_str().unwrap().to_owned();
    assert_eq!(waits(&node, &id, "").await, own);
    let listed = ok(node.get(ALICE, &format!("/v1/debates/{id}/gates")).await);
    assert_eq!(listed["gates"].as_array().unwrap().len(), 1, "{listed:#}");
    ok(decide(&node, &id, "approve", json!({})).await);
    over(&node, &id).await;
    let decided = ok(node.get(ALICE, &format!("/v1/gates/{own}")).await);
    assert_eq!((&decided["status"], &decided["decision"]["reviewer"]), (&json!("approved"), &json!(ALICE)));
    let other = ok(node.get(ALICE, &format!("/v1/gates/{forged}")).await);
    assert_ne!(other["status"], "approved", "what was approved was the debate's own");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_sent_twice_is_done_once() {
    let node = Node::start().await;
    let send = async |who: &str, path: &str, key: &str, body: &Value| {
        let headers = [("idempotency-key", key)];
        http::send(&node.url, "POST", path, &token(who), &headers, &body.to_string()).await
    };
    let body = json!({ "topic": TOPIC, "preset": "quick", "gates": gates(&["proposal", "convergence"]) });
    let first = send(AGENT, "/v1/debates", "k1", &body).await;
    let again = send(AGENT, "/v1/debates", "k1", &body).await;
    assert_eq!((first.status, first.json()), (again.status, again.json()));
    let other = json!({ "topic": "Another?", "preset": "quick" });
    assert_eq!(refused(&send(AGENT, "/v1/debates", "k1", &other).await), (422, "idempotency_mismatch".to_owned()));
    assert_eq!(ok(node.get(ALICE, "/v1/debates").await)["debates"].as_array().unwrap().len(), 1);

    // An approval that is repeated is answered as before, and does not pass the next gate.
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let proposal = waits(&node, &id, "").await;
    let path = format!("/v1/debates/{id}/approve");
    let click = json!({ "request_id": proposal });
    let approved = ok(send(ALICE, &path, "k2", &click).await);
    let next = waits(&node, &id, &proposal).await;
    let again = ok(send(ALICE, &path, "k2", &click).await);
    assert_eq!((&again["id"], &again["decision"]), (&approved["id"], &approved["decision"]));
    assert_eq!(waits(&node, &id, "").await, next, "the next gate still waits");
    ok(decide(&node, &id, "approve", json!({})).await);
    over(&node, &id).await;
    assert_eq!(ok(send(ALICE, &path, "k2", &click).await)["id"], approved["id"], "also after the end");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_known_id_or_session_is_refused() {
    let node = Node::start().await;
    let named = json!({ "id": "d1", "session_id": "s1" });
    assert_eq!(start(&node, named.clone()).await, "d1");
    let mut body = json!({ "topic": TOPIC, "preset": "quick", "id": "d1", "session_id": "s1" });
    // Also to whoever started it, with the very same.
    for who in [AGENT, "agent-b", ALICE] {
        body["session_id"] = Value::Null;
        assert_eq!(
            refused(&node.post(who, "/v1/debates", body.clone()).await),
            (409, "run_exists".to_owned()),
            "{who}"
        );
    }
    let session = json!({ "topic": TOPIC, "preset": "quick", "session_id": "s1" });
    assert_eq!(refused(&node.post("agent-b", "/v1/debates", session).await), (422, "invalid".to_owned()));
    let debate = over(&node, "d1").await;
    assert_eq!((&debate["id"], &debate["session_id"]), (&json!("d1"), &json!("s1")));
    assert_eq!(ok(node.get(ALICE, "/v1/debates").await)["debates"].as_array().unwrap().len(), 1);
}

/// A session has one debate, also where each start has a key of its own, and where several come at
/// once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_start_a_debate_in_one_session_one_does() {
    let node = Node::start().await;
    let body = json!({ "topic": TOPIC, "preset": "quick", "session_id": "s1" }).to_string();
    let (token, headers): (_, Vec<_>) = (token(AGENT), (1..=8).map(|n| format!("k{n}")).collect());
    let starts = headers.iter().map(async |key| {
        http::send(&node.url, "POST", "/v1/debates", &token, &[("idempotency-key", key)], &body).await
    });
    let answers = futures_util::future::join_all(starts).await;
    let (started, others): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 202);
    assert_eq!(started.len(), 1, "{answers:?}");
    for other in others {
        assert!(["run_exists", "invalid"].contains(&refused(other).1.as_str()), "{other:?}");
    }
    let id = started[0].json()["id"].as_str().unwrap().to_owned();
    over(&node, &id).await;
    let first = headers.iter().zip(&answers).find(|(_, answer)| answer.status == 202).unwrap().0;
    let again = http::send(&node.url, "POST", "/v1/debates", &token, &[("idempotency-key", first)], &body).await;
    assert_eq!((again.status, again.json()), (202, started[0].json()), "whoever repeats it is answered as before");
    assert_eq!(ok(node.get(ALICE, "/v1/debates").await)["debates"].as_array().unwrap().len(), 1);
}

/// The source had no stream of a debate, and no event of a gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_follows_a_debate_sees_all_of_it_and_its_end() {
    let node = Node::start().await;
    let id = start(&node, json!({ "gates": gates(&["convergence"]) })).await;
    // Live: the stream is open before anything was decided.
    let live = tokio::spawn({
        let (url, path) = (node.url.clone(), format!("/v1/debates/{id}/events"));
        async move { http::send(&url, "GET", &path, &token(AGENT), &[], "").await }
    });
    waits(&node, &id, "").await;
    ok(decide(&node, &id, "approve", json!({})).await);
    let debate = over(&node, &id).await;
    let live = frames(&live.await.unwrap());
    let names: Vec<&str> = live.iter().map(|(name, ..)| name.as_str()).collect();
    let expected = [
        "run.started",
        "debate.started",
        "debate.round_started",
        "debate.phase_started",
        "debate.turn",
        "debate.phase_completed",
        "debate.vote",
        "gate.opened",
        "gate.decided",
        "debate.completed",
        "run.ended",
        "debate.ended",
    ];
    let mut seen = names.iter();
    for name in expected {
        assert!(seen.any(|seen| *seen == name), "{name} is not in its place in {names:?}");
    }
    let (last, _, ended) = live.last().unwrap();
    assert_eq!((last.as_str(), ended), ("debate.ended", &debate));
    let said: Vec<_> = live.iter().filter(|(name, ..)| name == "debate.turn").map(|(.., told)| told).collect();
    assert!(
        said.iter().all(|told| told["payload"]["begins"].as_str().is_some_and(|text| !text.is_empty())),
        "{said:#?}"
    );
    let log = ok(node.get(ALICE, &format!("/v1/runs/{id}/events?limit=200")).await).to_string();
    assert!(log.contains("debate.turn") && !log.contains("begins"), "the log has none of their words: {log}");
    // Whoever comes later, or comes back, is told the same.
    assert_eq!(follow(&node, &id, None).await, live);
    let middle = live.len() / 2;
    assert_eq!(follow(&node, &id, Some(live[middle].1)).await, live[middle + 1..]);
    let after_the_end = follow(&node, &id, Some(live.last().unwrap().1)).await;
    assert_eq!(after_the_end, live[live.len() - 1..], "the end is told again");
    assert!(live.windows(2).all(|pair| pair[0].1 <= pair[1].1));
}

/// In the source, cancelling only set a flag that nobody read, and a timeout that came with an
/// approval could win after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_fails_a_debate_unless_somebody_said_otherwise() {
    let node = Node::start().await;
    let mut short = gates(&["proposal"]);
    short["timeout_ms"] = json!(50);
    let id = start(&node, json!({ "gates": short })).await;
    let debate = over(&node, &id).await;
    assert_eq!(
        (&debate["status"], &debate["fault"]["code"]),
        (&json!("failed"), &json!("gate_timed_out")),
        "{debate:#}"
    );
    short["on_timeout"] = json!("approve");
    let id = start_as(&node, ALICE, json!({ "gates": short })).await;
    assert_eq!(over(&node, &id).await["status"], "completed", "she said so");
}
