//! Every field that is accepted changes what happens. What the fields are is in
//! `debates/asked/tests.rs`, which fails where one is missing; here is what each of them does,
//! beside what a debate does without it.

use folkmoot_server::workflows::llm::settings::{ProviderKind, ProviderSettings};

use super::*;
use crate::node::Setting;

fn rehearsal() -> ProviderSettings {
    serde_json::from_value(json!({ "kind": ProviderKind::Rehearsal })).unwrap()
}

/// Who was asked to vote, in the order of their names.
async fn voters(node: &Node, id: &str) -> Vec<String> {
    let votes = ok(node.get(ALICE, &format!("/v1/debates/{id}/votes")).await);
    let mut voters: Vec<String> =
        votes["votes"].as_array().unwrap().iter().map(|vote| vote["voter"].as_str().unwrap().to_owned()).collect();
    voters.sort();
    voters
}

async fn results(node: &Node, id: &str) -> Value {
    over(node, id).await;
    ok(node.get(ALICE, &format!("/v1/debates/{id}/results")).await)
}

fn parts<'a>(turns: &'a [Value], part: &str) -> Vec<&'a Value> {
    turns.iter().filter(|turn| turn["metadata"]["part"] == part).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_debates_is_as_asked() {
    let provider = Some(("other".to_owned(), rehearsal()));
    let node = Node::with(Setting { provider, ..Setting::default() }).await;
    let listed = json!([
        { "id": "ann", "role": "proposer" },
        { "id": "ben", "role": "critic", "provider": "rehearsal", "domain": "security" },
        { "id": "cleo", "role": "moderator", "score": 3.0 },
        { "id": "dan", "role": "moderator", "score": 9.5 },
    ]);
    let usual = start(&node, json!({})).await;
    let two = start(&node, json!({ "agents": 2 })).await;
    let named = start(&node, json!({ "agents": listed, "phases": { "critique": true } })).await;
    let provided = start(&node, json!({ "provider": "rehearsal" })).await;
    assert_eq!(results(&node, &usual).await["providers"], json!(["other"]));
    assert_eq!(results(&node, &provided).await["providers"], json!(["rehearsal"]));
    assert_eq!(results(&node, &named).await["providers"], json!(["other", "rehearsal"]));
    over(&node, &two).await;
    assert_eq!((voters(&node, &usual).await.len(), voters(&node, &two).await.len()), (3, 2));
    assert_eq!(voters(&node, &named).await, ["ann", "ben", "cleo", "dan"]);
    let led = told(&node, &named, "debate.phase_started").await;
    let leader = led.iter().find(|phase| phase["phase"] == "convergence").unwrap()["leader"].clone();
    assert_eq!(leader, "dan", "the better of two moderators leads: {led:#?}");
    let trail = ok(node.get(ALICE, &format!("/v1/debates/{named}/audit?type=prompt_sent&limit=500")).await);
    let system = |agent: &str| {
        let entries = trail["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["agent"] == agent).unwrap()["data"]["system"].as_str().unwrap().to_owned()
    };
    assert!(system("ben").contains("security") && !system("ann").contains("security"), "{}", system("ben"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_course_is_as_asked() {
    let node = Node::start().await;
    let phases = async |id: &str| told(&node, id, "debate.started").await[0]["phases"].clone();
    let usual = start(&node, json!({})).await;
    let economy = start(&node, json!({ "preset": "economy", "early_agreement": false })).await;
    let more = start(&node, json!({ "phases": { "review": true, "dehallucination": "auto" } })).await;
    let rounds = start(&node, json!({ "max_rounds": 2, "early_exit": false })).await;
    let once = start(&node, json!({ "max_rounds": 2, "min_consensus": 0.01 })).await;
    let never = start(&node, json!({ "max_rounds": 2, "min_consensus": 1.0 })).await;
    let one = start(&node, json!({ "answers": 1 })).await;
    let alone = start(&node, json!({ "max_parallel": 1 })).await;
    for id in [&usual, &economy, &more, &rounds, &once, &never, &one, &alone] {
        assert_eq!(over(&node, id).await["status"], "completed");
    }
    assert_eq!(phases(&usual).await, json!(["proposal", "convergence"]));
    assert_eq!(phases(&economy).await, json!(["proposal", "critique", "convergence"]));
    let more = phases(&more).await;
    assert!(more.as_array().unwrap().contains(&json!("review")), "{more}");
    let total = async |id: &str| show(&node, id).await["total_rounds"].clone();
    assert_eq!((total(&usual).await, total(&rounds).await), (json!(1), json!(2)), "early_exit");
    assert_eq!((total(&once).await, total(&never).await), (json!(1), json!(2)), "min_consensus");
    let answers = async |id: &str| parts(&turns(&node, id, "&phase=proposal").await, "proposal").len();
    assert_eq!((answers(&usual).await, answers(&one).await), (3, 1));
    let groups = async |id: &str| {
        let started = told(&node, id, "debate.phase_started").await;
        started.iter().filter_map(|phase| phase["speakers"].as_array().cloned()).flatten().collect::<Vec<_>>()
    };
    let largest = |groups: &[Value]| groups.iter().map(|group| group.as_array().unwrap().len()).max().unwrap();
    assert!(largest(&groups(&usual).await) > 1);
    assert_eq!(largest(&groups(&alone).await), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn how_it_is_linked_planned_and_counted_is_as_asked() {
    let node = Node::start().await;
    let mut linked = Vec::new();
    for topology in ["graph_mesh", "star", "chain", "tree", "auto"] {
        linked.push((topology, start(&node, json!({ "topology": topology, "agents": 4 })).await));
    }
    let few = start(&node, json!({ "topology": "auto", "agents": 3 })).await;
    let one_plan = start(&node, json!({ "planning": "cpde" })).await;
    let many_plans = start(&node, json!({ "planning": "dpde" })).await;
    let fits = start(&node, json!({ "planning": "auto" })).await;
    let borda = start(&node, json!({ "voting": "borda" })).await;
    let auto = start(&node, json!({ "voting": "auto" })).await;
    let mut messages = Vec::new();
    for (topology, id) in &linked {
        let debate = over(&node, id).await;
        let expected = if *topology == "auto" { "graph_mesh" } else { topology };
        assert_eq!(debate["topology_type"], expected);
        let completed = told(&node, id, "debate.phase_completed").await;
        messages.push(completed.iter().filter_map(|phase| phase["messages"].as_u64()).sum::<u64>());
    }
    assert_eq!(messages[0], messages[4], "what fits is what was chosen");
    assert!(messages[0] != messages[1] && messages[0] != messages[2], "another network, other messages: {messages:?}");
    assert_eq!(over(&node, &few).await["topology_type"], "chain", "three are few");
    for (id, protocol) in [(&one_plan, "cpde"), (&many_plans, "dpde"), (&fits, "cpde")] {
        let debate = over(&node, id).await;
        assert_eq!(debate["coordination_protocol"], protocol);
    }
    let plans = async |id: &str| parts(&turns(&node, id, "").await, "plan").len();
    assert_ne!(plans(&one_plan).await, plans(&many_plans).await, "one plans, or each does");
    assert_eq!(results(&node, &borda).await["verdict"]["voting_method"], "borda");
    assert_eq!(results(&node, &auto).await["verdict"]["voting_method"], "weighted", "three voters");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gates_ask_whom_and_for_what_they_are_told_to() {
    let node = Node::start().await;
    let with = |more: Value| {
        let mut asked = gates(&["proposal"]);
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "gates": asked })
    };
    let pager = json!({ "name": "pager", "url": "https://hooks.example.org/x" });
    assert_eq!(node.post("root-of-all", "/v1/webhooks", pager).await.status, 201);
    let again = start(&node, with(json!({ "on_rejected": "retry" }))).await;
    let on = start_as(&node, "bob", with(json!({ "on_rejected": "continue" }))).await;
    let named = start(
        &node,
        with(json!({ "reviewers": ["bob"], "notification_channels": ["pager"], "timeout_ms": 7_200_000 })),
    )
    .await;
    let off = start(&node, json!({ "gates": { "enabled": false } })).await;
    assert_eq!(over(&node, &off).await["status"], "completed", "nobody is asked");
    let first = waits(&node, &again, "").await;
    ok(decide(&node, &again, "reject", json!({ "reason": "think of the tests" })).await);
    let second = waits(&node, &again, &first).await;
    assert_ne!(first, second, "the phase is done again, and asked about again");
    let rounds: usize = parts(&turns(&node, &again, "&phase=proposal").await, "proposal").len();
    assert_eq!(rounds, 6, "three answers, twice");
    ok(decide(&node, &again, "approve", json!({})).await);
    assert_eq!(over(&node, &again).await["status"], "completed");
    waits(&node, &on, "").await;
    ok(decide(&node, &on, "reject", json!({ "reason": "mind the costs" })).await);
    assert_eq!(over(&node, &on).await["status"], "completed", "it goes on, with what was said");
    let gate = waits(&node, &named, "").await;
    let gate = ok(node.get(ALICE, &format!("/v1/gates/{gate}")).await);
    assert_eq!((&gate["reviewers"], &gate["notification_channels"]), (&json!(["bob"]), &json!(["pager"])));
    assert_eq!(gate["timeout_ms"], 7_200_000);
    let path = format!("/v1/debates/{named}/approve");
    let meant = json!({ "request_id": gate["id"] });
    assert_eq!(refused(&node.post(ALICE, &path, meant.clone()).await), (403, "not_a_reviewer".to_owned()));
    ok(node.post("bob", &path, meant).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_limits_end_it_and_a_person_can_be_asked_what_is_unclear() {
    let node = Node::start().await;
    let poor = start(&node, json!({ "budget": { "tokens": 10 } })).await;
    let short = start(&node, json!({ "timeout_ms": 1 })).await;
    let asks = start(&node, json!({ "phases": { "dehallucination": true }, "instructor": "person" })).await;
    let debate = over(&node, &poor).await;
    assert_eq!(
        (&debate["status"], &debate["fault"]["code"]),
        (&json!("failed"), &json!("budget_exceeded")),
        "{debate:#}"
    );
    let debate = over(&node, &short).await;
    assert_eq!(
        (&debate["status"], &debate["fault"]["code"]),
        (&json!("failed"), &json!("limit_exceeded")),
        "{debate:#}"
    );
    let bystander = start(&node, json!({})).await;
    assert_eq!(over(&node, &bystander).await["status"], "completed", "what one debate asks holds no other");
    let mut said = vec![("answer", json!({ "answer": "in the first week" })), ("skip", json!({}))].into_iter();
    let mut next = said.next();
    for _ in 0..1_000 {
        let Some((verb, body)) = &next else { break };
        let list = ok(node.get(ALICE, "/v1/questions?status=pending").await);
        if let Some(question) = list["questions"].as_array().unwrap().first() {
            let path = format!("/v1/questions/{}/{verb}", question["id"].as_str().unwrap());
            ok(node.post(ALICE, &path, body.clone()).await);
            next = said.next();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Whatever else it asks is left to the agents.
    node.send(ALICE, "DELETE", &format!("/v1/debates/{asks}"), json!({})).await;
    let trail = ok(node.get(ALICE, &format!("/v1/debates/{asks}/audit")).await);
    let asked = trail["entries"].as_array().unwrap().iter().filter(|entry| entry["data"]["question"].is_string());
    let of = |kind: &str| asked.clone().filter(|entry| entry["type"] == kind).count();
    assert_eq!(next, None, "it asked twice: {trail:#}");
    assert!(of("prompt_sent") >= 2, "{trail:#}");
    assert!(of("response_received") >= 2, "an answer, and that there is none: {trail:#}");
}

/// Questions that halt only an agent of a run go with the run, also when an agent ends it.
/// Otherwise it could gather any number of them by starting and cancelling debates.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_debate_asks_is_closed_when_the_agent_that_started_it_cancels_it() {
    let node = Node::start().await;
    let asking = json!({ "phases": { "dehallucination": true }, "instructor": "person" });
    let id = start_as(&node, AGENT, asking).await;
    let mut asked = json!([]);
    for _ in 0..1_000 {
        asked = ok(node.get(ALICE, "/v1/questions?status=pending").await)["questions"].take();
        if asked[0].is_object() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(asked[0]["halts"], "agent", "{asked:#}");
    ok(node.send(AGENT, "DELETE", &format!("/v1/debates/{id}?reason=enough"), Value::Null).await);
    assert_eq!(ok(node.get(ALICE, "/v1/questions?status=pending").await)["questions"], json!([]));
    assert_eq!(ok(node.get(ALICE, "/v1/halts").await)["halted_agents"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_attacks_their_own_answer_while_others_are_there() {
    let node = Node::start().await;
    for agents in [3, 5] {
        let id = start(&node, json!({ "preset": "full", "agents": agents, "max_rounds": 1 })).await;
        over(&node, &id).await;
        let turns = turns(&node, &id, "").await;
        let attacks = parts(&turns, "attack");
        assert!(!attacks.is_empty(), "{turns:#?}");
        for attack in attacks {
            assert_ne!(attack["agent_id"], attack["metadata"]["of"], "{attack:#}");
        }
    }
}
