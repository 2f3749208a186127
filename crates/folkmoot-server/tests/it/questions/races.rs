//! Many at once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{sync::Barrier, task::JoinSet};

use super::replay::{Held, replay};
use crate::{
    halting::{id, ids},
    http,
    node::{Node, everywhere, postgres, token},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_32_answers_at_once_one_counts_and_the_others_are_told_whose() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        for round in 0..10 {
            let question = nodes[round % nodes.len()].asks("a1", "s1", "APPROVAL").await;
            let start = Arc::new(Barrier::new(32));
            let mut racing = JoinSet::new();
            for n in 0..32 {
                let (nodes, start, question) = (nodes.clone(), start.clone(), question.clone());
                racing.spawn(async move {
                    let who = ["alice", "bob", "carol", "root-of-all"][n % 4];
                    let node = &nodes[(n / 4) % nodes.len()];
                    start.wait().await;
                    let (verb, body) = [
                        ("answer", json!({"answer": "approve"})),
                        ("answer", json!({"answer": "deny"})),
                        ("deny", json!({})),
                        ("skip", json!({})),
                        ("cancel", json!({})),
                    ][n % 5]
                        .clone();
                    (who, node.closes(who, &question, verb, body).await)
                });
            }
            let answers = racing.join_all().await;
            let won: Vec<_> = answers.iter().filter(|(_, answer)| answer.status == 200).collect();
            assert_eq!(won.len(), 1, "{won:?}");
            let (winner, closed) = (won[0].0, won[0].1.json());
            for (who, answer) in answers.iter().filter(|(_, answer)| answer.status != 200) {
                assert_eq!((answer.status, answer.code().as_str()), (409, "question_closed"), "{who}");
                let told = &answer.json()["closed"];
                assert_eq!((&told["by"], &told["status"]), (&json!(winner), &closed["status"]));
            }
            for node in nodes.iter() {
                let shown = node.question("vera", &question).await;
                assert_eq!((&shown["status"], &shown["closed"]["by"]), (&closed["status"], &json!(winner)));
            }
            nodes[0].acknowledges(&question).await;
        }
        assert!(replay(&nodes[0].log("vera").await).0.is_empty());
        nodes[0].verifies().await;
    }
}

/// Many closings of one agent's questions, which a node commits together: `resumed` is said by the
/// last alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_closed_together_the_last_says_resumed() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let mut asking = JoinSet::new();
        for n in 0..120 {
            let nodes = nodes.clone();
            let question_type = ["BLOCKING", "APPROVAL", "EMERGENCY"][n % 3];
            asking.spawn(async move { nodes[n % nodes.len()].asks("a1", "s1", question_type).await });
        }
        let questions = asking.join_all().await;
        let waiting = nodes[0].waiting("a1", "s1", 50_000).await;
        let mut closing = JoinSet::new();
        for (n, question) in questions.into_iter().enumerate() {
            let nodes = nodes.clone();
            closing.spawn(async move { nodes[n / 2 % nodes.len()].answers(&question, "approve").await });
        }
        assert_eq!(closing.join_all().await.len(), 120);
        let waited = waiting.await.unwrap();
        assert_eq!((&waited["cleared"], waited["answers"].as_array().unwrap().len()), (&json!(true), 120));
        let log = nodes[0].log("vera").await;
        assert!(replay(&log).0.is_empty());
        for kind in ["agent.resumed", "session.resumed", "system.resumed"] {
            assert_eq!(log.iter().filter(|entry| entry["type"] == kind).count(), 1, "{kind}");
        }
        nodes[0].verifies().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_16_liftings_at_once_one_counts() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let halt = nodes[0].halts(json!({"scope": "all"})).await;
        let mut racing = JoinSet::new();
        for n in 0..16 {
            let (nodes, path) = (nodes.clone(), format!("/v1/halts/{halt}"));
            racing.spawn(async move { nodes[n % nodes.len()].delete("root-of-all", &path).await });
        }
        let answers = racing.join_all().await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            assert_eq!((answer.status, answer.code().as_str()), (409, "halt_lifted"));
        }
        assert!(replay(&nodes[0].log("vera").await).0.is_empty());
        nodes[0].verifies().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_16_askings_at_once_with_one_key_one_question_comes() {
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let mut racing = JoinSet::new();
        for n in 0..16 {
            let url = nodes[n % nodes.len()].url.clone();
            racing.spawn(async move {
                let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?"}).to_string();
                let key = [("idempotency-key", "the-one")];
                http::send(&url, "POST", "/v1/questions", &token("agent-a"), &key, &body).await
            });
        }
        let answers = racing.join_all().await;
        let asked: BTreeSet<_> = answers.iter().map(|answer| id(&answer.json())).collect();
        assert_eq!(asked.len(), 1, "{answers:?}");
        assert_eq!(replay(&nodes[0].log("vera").await).0.len(), 1);
    }
}

/// A denial that several hear at the same moment is fetched once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_that_many_hear_is_fetched_once() {
    for nodes in everywhere().await {
        let question = nodes[0].asks("a1", "s1", "APPROVAL").await;
        crate::halting::covered(&nodes, "a1", "s1", &[&question]).await;
        let mut waiting = Vec::new();
        for n in 0..8 {
            waiting.push(nodes[n % nodes.len()].waiting("a1", "s1", 20_000).await);
        }
        nodes[0].says(&question, "deny").await;
        for waiting in waiting {
            crate::halting::ended(&waiting.await.unwrap(), false, "denied", &[(&question, json!("deny"))]);
        }
        let heard = (0..8).map(|n| nodes[n % nodes.len()].acknowledges(&question));
        for heard in futures_util::future::join_all(heard).await {
            assert_eq!(heard["status"], "denied");
        }
        let told = nodes[0].story(&question).await;
        assert_eq!(told.iter().filter(|kind| *kind == "question.fetched").count(), 1, "{told:?}");
        assert!(replay(&nodes[0].log("vera").await).0.is_empty());
        nodes[0].verifies().await;
    }
}

const AGENTS: [&str; 5] = ["w0", "w1", "w2", "w3", "w4"];
const SESSIONS: [&str; 4] = ["", "s1", "s2", "s3"];

/// Sixteen that ask, answer, deny, skip, cancel, fetch, wait, halt and lift at random on every
/// node; after which every node says of everyone what the lists and the log say.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_storm_every_node_clears_exactly_whom_nothing_covers() {
    let seed = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    eprintln!("seed {seed}");
    for nodes in everywhere().await {
        let nodes = Arc::new(nodes);
        let known: Arc<Mutex<(Vec<String>, Vec<String>)>> = Arc::default();
        let mut storm = JoinSet::new();
        for task in 0..16_u64 {
            let (nodes, known) = (nodes.clone(), known.clone());
            let random = Random(u64::from(seed) + task * 7919 + 1);
            storm.spawn(async move { blow(&nodes, &known, random).await });
        }
        while let Some(done) = storm.join_next().await {
            done.unwrap();
        }
        // The last defaults fall due.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let log = nodes[0].log("vera").await;
        let held = replay(&log);
        assert_eq!(listed(&nodes[0]).await, of_questions(&held), "the rows disagree with the log");
        for node in nodes.iter() {
            for agent in AGENTS.into_iter().chain(["bystander"]) {
                for session in SESSIONS {
                    let blockers: BTreeSet<_> = node.blockers(agent, session).await.into_iter().collect();
                    assert_eq!(blockers, held.covering(agent, session), "{agent} in {session:?}, seed {seed}");
                }
            }
            let status = node.halt_status("vera").await;
            let mut by_status = BTreeSet::from_iter(ids(&status["held_by"]["system"]));
            for place in ["sessions", "agents"] {
                for by in status["held_by"][place].as_object().unwrap().values() {
                    by_status.extend(ids(by));
                }
            }
            assert_eq!(by_status, held.0.keys().cloned().collect(), "seed {seed}");
        }
        eprintln!("{} events, {} holds are left", log.len(), held.0.len());
        nodes[0].verifies().await;
        calm(&nodes).await;
    }
}

/// A node reads what holds at one moment and then follows the log from there: nothing is missed or
/// taken twice between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_starts_in_the_middle_of_a_storm_knows_exactly_what_holds() {
    let Some(setting) = postgres().await else { return };
    let nodes = Arc::new(vec![Node::with(setting.clone()).await]);
    let known: Arc<Mutex<(Vec<String>, Vec<String>)>> = Arc::default();
    let mut storm = JoinSet::new();
    for task in 0..16_u64 {
        let (nodes, known) = (nodes.clone(), known.clone());
        storm.spawn(async move { blow(&nodes, &known, Random(4711 + task * 7919)).await });
    }
    let mut late = Vec::new();
    while !storm.is_empty() && late.len() < 6 {
        late.push(Node::with(setting.clone()).await);
        while let Some(done) = storm.try_join_next() {
            done.unwrap();
        }
    }
    eprintln!("{} nodes were started in the storm", late.len());
    storm.join_all().await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let held = replay(&nodes[0].log("vera").await);
    for (n, node) in late.iter().enumerate() {
        for agent in AGENTS.into_iter().chain(["bystander"]) {
            for session in SESSIONS {
                let blockers: BTreeSet<_> = node.blockers(agent, session).await.into_iter().collect();
                assert_eq!(blockers, held.covering(agent, session), "{agent} in {session:?} on late node {n}");
            }
        }
    }
    calm(&late).await;
}

/// Everything is closed, lifted and fetched; then everyone is free on every node.
async fn calm(nodes: &[Node]) {
    for id in replay(&nodes[0].log("vera").await).0.keys() {
        if id.starts_with("halt-") {
            nodes[0].lifts(id).await;
        } else if nodes[0].question("vera", id).await["status"] == "denied" {
            nodes.last().unwrap().acknowledges(id).await;
        } else {
            nodes[0].answers(id, "approve").await;
        }
    }
    for agent in AGENTS {
        for session in SESSIONS {
            crate::halting::settles(nodes, agent, session, true).await;
        }
    }
    assert_eq!(replay(&nodes[0].log("vera").await), Held::default());
    nodes[0].verifies().await;
}

/// The ids of all questions that hold somebody, by their rows.
async fn listed(node: &Node) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut cursor = String::new();
    loop {
        let page = node.get("vera", &format!("/v1/questions?limit=500{cursor}")).await.json();
        let holds = |q: &&Value| {
            let unheard = q["status"] == "denied" && q["closed"]["fetched_at"].is_null();
            !q["halts"].is_null() && (q["status"] == "pending" || unheard)
        };
        found.extend(page["questions"].as_array().unwrap().iter().filter(holds).map(id));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn of_questions(held: &Held) -> BTreeSet<String> {
    held.0.keys().filter(|id| id.starts_with("question-")).cloned().collect()
}

async fn blow(nodes: &[Node], known: &Mutex<(Vec<String>, Vec<String>)>, mut random: Random) {
    for _ in 0..40 {
        let node = &nodes[random.below(nodes.len())];
        let (agent, session) = (*random.one(&AGENTS), *random.one(&SESSIONS));
        let question = random.of(&known.lock().unwrap().0);
        let halt = random.of(&known.lock().unwrap().1);
        match random.below(20) {
            0..=5 => {
                let question_type =
                    *random.one(&["BLOCKING", "ESCALATION", "APPROVAL", "EMERGENCY", "CLARIFYING", "DECISION"]);
                let mut body = json!({"agent_id": agent, "type": question_type, "text": "?"});
                if !session.is_empty() {
                    body["session_id"] = json!(session);
                    body["halts"] = json!(random.one(&[None, Some("agent"), Some("session"), Some("all")]));
                }
                if !["APPROVAL", "EMERGENCY"].contains(&question_type) && random.below(3) == 0 {
                    body["default"] = json!("approve");
                    body["timeout_ms"] = json!(20 + random.below(300));
                }
                let asked = id(&node.asked(body).await);
                known.lock().unwrap().0.push(asked);
            }
            6..=13 => {
                let Some(question) = question else { continue };
                let verb = *random.one(&["answer", "answer", "answer", "deny", "skip", "cancel"]);
                let body = if verb == "answer" { json!({"answer": "approve"}) } else { json!({}) };
                let who = *random.one(&["alice", "bob", "carol"]);
                let answer = node.closes(who, &question, verb, body).await;
                if answer.status != 200 {
                    assert_eq!(answer.status, 409, "{answer:?}");
                    assert!(["question_closed", "question_expired"].contains(&answer.code().as_str()), "{answer:?}");
                }
            }
            14 => {
                let Some(question) = question else { continue };
                node.acknowledges(&question).await;
            }
            15 => drop(node.waited(agent, session, 30).await),
            16 => {
                let body = match random.below(3) {
                    1 if !session.is_empty() => json!({"scope": "session", "session_id": session}),
                    2 => json!({"scope": "all"}),
                    _ => json!({"scope": "agent", "agent_id": agent}),
                };
                let raised = node.halts(body).await;
                known.lock().unwrap().1.push(raised);
            }
            _ => {
                let Some(halt) = halt else { continue };
                let answer = node.delete("root-of-all", &format!("/v1/halts/{halt}")).await;
                if answer.status != 200 {
                    assert_eq!((answer.status, answer.code().as_str()), (409, "halt_lifted"));
                }
            }
        }
    }
}

/// Xorshift: the same seed, the same storm, but for who is first.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn of(&mut self, of: &[String]) -> Option<String> {
        if of.is_empty() { None } else { Some(self.one(of).clone()) }
    }
}
