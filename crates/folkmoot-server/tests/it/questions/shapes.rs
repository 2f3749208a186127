//! What goes in and comes out, exactly as the design shows it.

use serde_json::{Value, json};

use crate::{
    halting::{id, ids, of},
    http::{self, Answer},
    node::{Node, everywhere, token},
};

fn location(answer: &Answer) -> String {
    let line = answer.head.lines().find(|line| line.starts_with("location: ")).expect("a location");
    line.trim_start_matches("location: ").to_owned()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

#[tokio::test]
async fn an_asked_question_comes_back_with_all_that_was_sent() {
    let node = Node::start().await;
    let body = json!({"agent_id": "a1", "session_id": "s1", "type": "DECISION", "text": "Left or right?",
        "options": ["left", "right"], "default": "left", "timeout_ms": 60_000, "halts": "session", "priority": "critical"});
    let answer = node.post("agent-a", "/v1/questions", body.clone()).await;
    assert_eq!(answer.status, 201);
    let asked = answer.json();
    for (key, value) in body.as_object().unwrap() {
        assert_eq!(&asked[key], value, "{key}");
    }
    assert_eq!((&asked["status"], &asked["asked_by"]), (&json!("pending"), &json!("agent-a")));
    assert!(id(&asked).starts_with("question-"));
    assert!(asked["asked_at"].is_string() && asked["deadline"].is_string());
    assert_eq!((&asked["answer"], &asked["closed"]), (&json!(null), &json!(null)));
    let path = location(&answer);
    assert_eq!(path, format!("/v1/questions/{}", id(&asked)));
    assert_eq!(node.get("agent-a", &path).await.json(), asked, "and its address shows the same");

    let closed =
        node.closes("alice", &id(&asked), "answer", json!({"answer": "right", "reason": "it is"})).await.json();
    assert_eq!((&closed["status"], &closed["answer"]), (&json!("answered"), &json!("right")));
    let how = &closed["closed"];
    assert_eq!((&how["by"], &how["answer"], &how["reason"]), (&json!("alice"), &json!("right"), &json!("it is")));
    assert_eq!(node.get("agent-a", &path).await.json(), closed);
}

#[tokio::test]
async fn a_minimal_question_is_its_askers_own() {
    let node = Node::start().await;
    for (question_type, halts) in [
        ("BLOCKING", json!("agent")),
        ("CLARIFYING", json!(null)),
        ("CONFIRMING", json!(null)),
        ("PREFERENCE", json!(null)),
        ("ALERT", json!(null)),
        ("ESCALATION", json!("agent")),
        ("APPROVAL", json!("agent")),
        ("DECISION", json!(null)),
        ("EMERGENCY", json!("all")),
    ] {
        let asked = node.asked(json!({"type": question_type, "text": "?"})).await;
        assert_eq!((&asked["agent_id"], &asked["halts"]), (&json!("agent-a"), &halts), "{question_type}");
        assert_eq!(asked["session_id"], json!(null));
    }
    let in_session = node.asked(json!({"type": "APPROVAL", "text": "?", "session_id": "s1"})).await;
    assert_eq!((&in_session["halts"], &in_session["options"]), (&json!("session"), &json!(["approve", "deny"])));
    assert_eq!(in_session["deadline"], json!(null), "an APPROVAL waits for ever");
}

#[tokio::test]
async fn clearance_says_what_covers_an_agent_oldest_first() {
    let node = Node::start().await;
    let free = node.get("agent-a", &format!("/v1/clearance?{}", of("a1", "s1"))).await.json();
    assert_eq!(free, json!({"can_proceed": true, "blocked_by": []}));
    let approval = node.asks("a2", "s1", "APPROVAL").await;
    let halt = node.halts(json!({"scope": "all"})).await;
    let own = node.asks("a1", "s1", "BLOCKING").await;
    let clearance = node.get("agent-a", &format!("/v1/clearance?{}", of("a1", "s1"))).await.json();
    assert_eq!(keys(&clearance), ["blocked_by", "can_proceed"]);
    let blocked_by = clearance["blocked_by"].as_array().unwrap();
    let expected = [
        (&approval, "question", json!("APPROVAL"), "session"),
        (&halt, "halt", json!(null), "all"),
        (&own, "question", json!("BLOCKING"), "agent"),
    ];
    assert_eq!(blocked_by.len(), expected.len());
    for (found, (id, kind, question_type, scope)) in blocked_by.iter().zip(expected) {
        assert_eq!(found["id"], id.as_str());
        assert_eq!((&found["kind"], &found["type"], &found["scope"]), (&json!(kind), &question_type, &json!(scope)));
        assert!(found["since"].is_string());
    }
    let own_name = node.get("agent-a", "/v1/clearance").await.json();
    assert_eq!(ids(&own_name["blocked_by"]), [halt], "whoever names nobody asks for themselves");
}

#[tokio::test]
async fn a_wait_says_whether_why_and_what_was_answered() {
    let node = Node::start().await;
    let free = node.get("agent-a", "/v1/clearance/wait?agent_id=a1&timeout_ms=1000").await.json();
    assert_eq!(free, json!({"cleared": true, "reason": "answered", "answers": []}));
    let question = node.asks("a1", "", "BLOCKING").await;
    let still = node.get("agent-a", "/v1/clearance/wait?agent_id=a1&timeout_ms=0").await.json();
    assert_eq!(keys(&still), ["answers", "blocked_by", "cleared", "reason"]);
    assert_eq!((&still["cleared"], &still["reason"]), (&json!(false), &json!("timeout")));
    let waiting = node.waiting("a1", "", 20_000).await;
    node.closes("alice", &question, "answer", json!({"answer": 7, "reason": "it is"})).await;
    let answers = json!([{"question_id": question, "answer": 7, "reason": "answered", "comment": "it is"}]);
    assert_eq!(waiting.await.unwrap(), json!({"cleared": true, "reason": "answered", "answers": answers}));
}

#[tokio::test]
async fn halts_have_three_fields_and_what_holds_each_oldest_first() {
    let node = Node::start().await;
    let nothing = json!({"system_halted": false, "halted_sessions": [], "halted_agents": [],
        "held_by": {"system": [], "sessions": {}, "agents": {}}});
    assert_eq!(node.halt_status("vera").await, nothing);
    let one = node.halts(json!({"scope": "session", "session_id": "s1"})).await;
    let two = node.asks("a2", "s1", "APPROVAL").await;
    let three = node.halts(json!({"scope": "agent", "agent_id": "a1"})).await;
    let four = node.asks("a1", "s0", "EMERGENCY").await;
    let five = node.halts(json!({"scope": "all"})).await;
    let status = node.halt_status("vera").await;
    assert_eq!(keys(&status), ["halted_agents", "halted_sessions", "held_by", "system_halted"]);
    assert_eq!(status["system_halted"], true);
    assert_eq!(status["halted_sessions"], json!(["s0", "s1"]));
    assert_eq!(status["halted_agents"], json!(["a1", "a2"]));
    let held = &status["held_by"];
    assert_eq!(ids(&held["system"]), [four.clone(), five]);
    assert_eq!(ids(&held["sessions"]["s1"]), [one, two.clone()]);
    assert_eq!(ids(&held["sessions"]["s0"]), [four.as_str()]);
    assert_eq!(ids(&held["agents"]["a1"]), [three, four]);
    assert_eq!(ids(&held["agents"]["a2"]), [two]);
    assert_eq!(held["system"][1]["reason"], "stop it");
}

#[tokio::test]
async fn a_raised_halt_comes_back_with_its_address() {
    let node = Node::start().await;
    let body = json!({"scope": "session", "session_id": "s1", "reason": "budget exceeded"});
    let answer = node.post("monitor", "/v1/halts", body).await;
    assert_eq!(answer.status, 201);
    let halt = answer.json();
    let expected =
        ["agent_id", "id", "lifted_at", "lifted_by", "raised_at", "raised_by", "reason", "scope", "session_id"];
    assert_eq!(keys(&halt), expected);
    assert_eq!(
        (&halt["scope"], &halt["session_id"], &halt["agent_id"]),
        (&json!("session"), &json!("s1"), &json!(null))
    );
    assert_eq!((&halt["reason"], &halt["raised_by"]), (&json!("budget exceeded"), &json!("monitor")));
    assert_eq!(location(&answer), format!("/v1/halts/{}", id(&halt)));
    let lifted = node.lifts(&id(&halt)).await;
    assert_eq!((&lifted["id"], &lifted["lifted_by"]), (&halt["id"], &json!("root-of-all")));
    assert!(lifted["lifted_at"].is_string());
}

/// An address that is told must answer.
#[tokio::test]
async fn the_address_of_a_halt_shows_it() {
    let node = Node::start().await;
    let answer = node.post("root-of-all", "/v1/halts", json!({"scope": "all", "reason": "x"})).await;
    let shown = node.get("root-of-all", &location(&answer)).await;
    assert_eq!(shown.status, 200, "Location names an address that cannot be read: {shown:?}");
}

#[tokio::test]
async fn lists_page_by_cursor_and_keep_to_what_was_asked_for() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let mut asked = Vec::new();
        for n in 0..11 {
            let question_type = ["PREFERENCE", "BLOCKING", "EMERGENCY", "CLARIFYING"][n % 4];
            asked.push(first.asks(["a1", "a2"][n % 2], ["", "s1", "s2"][n % 3], question_type).await);
        }
        for (n, question) in asked.iter().enumerate() {
            match n % 4 {
                0 => drop(first.says(question, "skip").await),
                1 => drop(first.answers(question, "x").await),
                _ => {}
            }
        }
        let pages = |query: &'static str| async move {
            let mut all: Vec<Value> = Vec::new();
            let mut cursor = String::new();
            for _ in 0..20 {
                let page = last.get("vera", &format!("/v1/questions?limit=2{query}{cursor}")).await.json();
                let questions = page["questions"].as_array().unwrap().clone();
                assert!(questions.len() <= 2);
                all.extend(questions);
                match page["next"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => return all,
                }
            }
            panic!("the pages do not end");
        };
        for (query, expected) in [
            ("", asked.clone()),
            ("&status=pending", pick(&asked, |n| n % 4 > 1)),
            ("&status=answered", pick(&asked, |n| n % 4 == 1)),
            ("&status=skipped", pick(&asked, |n| n % 4 == 0)),
            ("&status=denied", Vec::new()),
            ("&agent=a1", pick(&asked, |n| n % 2 == 0)),
            ("&session=s1", pick(&asked, |n| n % 3 == 1)),
            ("&agent=a1&session=s2&status=pending", pick(&asked, |n| n % 2 == 0 && n % 3 == 2 && n % 4 > 1)),
        ] {
            let found = pages(query).await;
            let mut found: Vec<String> = found.iter().map(id).collect();
            let count = found.len();
            found.sort();
            found.dedup();
            assert_eq!(found.len(), count, "{query}: something came twice");
            let mut expected = expected;
            expected.sort();
            assert_eq!(found, expected, "{query}");
        }
        let pending = pages("&status=pending").await;
        let rank =
            |question: &Value| ["critical", "high", "medium", "low"].iter().position(|p| question["priority"] == *p);
        assert!(pending.is_sorted_by_key(rank), "the most urgent first");
    }
}

fn pick(asked: &[String], keep: impl Fn(usize) -> bool) -> Vec<String> {
    asked.iter().enumerate().filter(|(n, _)| keep(*n)).map(|(_, id)| id.clone()).collect()
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_answer_and_happens_once() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let key = [("idempotency-key", "k-1")];
        let send = |node: usize, path: String, who: &'static str, body: Value| {
            let url = nodes[node % nodes.len()].url.clone();
            async move { http::send(&url, "POST", &path, &token(who), &key, &body.to_string()).await }
        };
        let ask = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?"});
        let one = send(0, "/v1/questions".into(), "agent-a", ask.clone()).await;
        let two = send(1, "/v1/questions".into(), "agent-a", ask.clone()).await;
        assert_eq!((one.status, two.status), (201, 201));
        assert_eq!((one.json(), location(&one)), (two.json(), location(&two)));
        let other = json!({"agent_id": "a1", "type": "BLOCKING", "text": "!"});
        let mismatch = send(1, "/v1/questions".into(), "agent-a", other).await;
        assert_eq!((mismatch.status, mismatch.code().as_str()), (422, "idempotency_mismatch"));
        let theirs = send(1, "/v1/questions".into(), "agent-b", ask).await;
        assert_ne!(id(&theirs.json()), id(&one.json()), "keys are per principal");

        let question = id(&one.json());
        for (verb, body, another) in [
            ("answer", json!({"answer": "x"}), json!({"answer": "y"})),
            ("deny", json!({"reason": "no"}), json!({"reason": "no!"})),
            ("skip", json!({"reason": "no"}), json!({"reason": "no!"})),
            ("cancel", json!({"reason": "no"}), json!({"reason": "no!"})),
        ] {
            let question = if verb == "answer" { question.clone() } else { first.asks("a3", "", "BLOCKING").await };
            let path = format!("/v1/questions/{question}/{verb}");
            let one = send(0, path.clone(), "alice", body.clone()).await;
            let two = send(1, path.clone(), "alice", body.clone()).await;
            assert_eq!((one.status, two.status), (200, 200), "{verb}: {two:?}");
            assert_eq!(one.json(), two.json(), "{verb}");
            let mismatch = send(1, path, "alice", another).await;
            assert_eq!((mismatch.status, mismatch.code().as_str()), (422, "idempotency_mismatch"), "{verb}");
            let told = first.story(&question).await;
            assert_eq!(told.iter().filter(|kind| *kind == "agent.halted").count(), 1);
            let closings = told.iter().filter(|kind| {
                ["question.answered", "question.denied", "question.skipped", "question.cancelled"]
                    .contains(&kind.as_str())
            });
            assert_eq!(closings.count(), 1, "{told:?}");
        }
        let halt = json!({"scope": "agent", "agent_id": "a9", "reason": "x"});
        let one = send(0, "/v1/halts".into(), "monitor", halt.clone()).await;
        let two = send(1, "/v1/halts".into(), "monitor", halt).await;
        assert_eq!((one.status, two.status), (201, 201));
        assert_eq!((one.json(), location(&one)), (two.json(), location(&two)));
        let other = json!({"scope": "agent", "agent_id": "a9", "reason": "y"});
        let mismatch = send(1, "/v1/halts".into(), "monitor", other).await;
        assert_eq!((mismatch.status, mismatch.code().as_str()), (422, "idempotency_mismatch"));
        first.lifts(&id(&one.json())).await;
        crate::halting::settles(&nodes, "a9", "", true).await;
        last.verifies().await;
    }
}
