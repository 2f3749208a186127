//! Asking, answering, halting and looking, in few words.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    http::{self, Answer},
    node::{Node, token},
};

impl Node {
    /// Asks with this body as `agent-a`, and returns the question.
    pub async fn asked(&self, body: Value) -> Value {
        let answer = self.post("agent-a", "/v1/questions", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// `agent-a` asks for this agent, in this session unless it is empty; returns the question's
    /// id.
    pub async fn asks(&self, agent: &str, session: &str, question_type: &str) -> String {
        let mut body = json!({"agent_id": agent, "type": question_type, "text": "may I?"});
        if !session.is_empty() {
            body["session_id"] = json!(session);
        }
        id(&self.asked(body).await)
    }

    /// One of `answer`, `deny`, `skip` and `cancel`.
    pub async fn closes(&self, who: &str, question: &str, verb: &str, body: Value) -> Answer {
        self.post(who, &format!("/v1/questions/{question}/{verb}"), body).await
    }

    /// Alice answers.
    pub async fn answers(&self, question: &str, answer: impl Into<Value>) -> Value {
        let answered = self.closes("alice", question, "answer", json!({"answer": answer.into()})).await;
        assert_eq!(answered.status, 200, "{answered:?}");
        answered.json()
    }

    /// Alice denies, skips or cancels.
    pub async fn says(&self, question: &str, verb: &str) -> Value {
        let said = self.closes("alice", question, verb, json!({"reason": format!("{verb}, because")})).await;
        assert_eq!(said.status, 200, "{said:?}");
        said.json()
    }

    /// `agent-a`, which asked, has heard the denial.
    pub async fn acknowledges(&self, question: &str) -> Value {
        let heard = self.closes("agent-a", question, "acknowledge", json!({})).await;
        assert_eq!(heard.status, 200, "{heard:?}");
        heard.json()
    }

    pub async fn question(&self, who: &str, question: &str) -> Value {
        self.get(who, &format!("/v1/questions/{question}")).await.json()
    }

    /// What covers this agent, as `vera` sees it, who changes nothing by looking.
    pub async fn clearance(&self, agent: &str, session: &str) -> Value {
        let answer = self.get("vera", &format!("/v1/clearance?{}", of(agent, session))).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let clearance = answer.json();
        assert_eq!(clearance["can_proceed"], json!(clearance["blocked_by"] == json!([])), "{clearance}");
        clearance
    }

    pub async fn can_proceed(&self, agent: &str, session: &str) -> bool {
        self.clearance(agent, session).await["can_proceed"] == json!(true)
    }

    /// The ids of what covers this agent, oldest first.
    pub async fn blockers(&self, agent: &str, session: &str) -> Vec<String> {
        ids(&self.clearance(agent, session).await["blocked_by"])
    }

    /// `agent-a` waits for this agent's clearance.
    pub async fn waited(&self, agent: &str, session: &str, timeout_ms: u64) -> Value {
        waited(&self.url, "agent-a", agent, session, timeout_ms).await
    }

    /// The same, beside what follows. It has begun to wait when this returns, as far as one can
    /// know.
    pub async fn waiting(&self, agent: &str, session: &str, timeout_ms: u64) -> JoinHandle<Value> {
        let (url, agent, session) = (self.url.clone(), agent.to_owned(), session.to_owned());
        let waiting = tokio::spawn(async move { waited(&url, "agent-a", &agent, &session, timeout_ms).await });
        tokio::time::sleep(Duration::from_millis(80)).await;
        waiting
    }

    /// An admin raises a halt; returns its id.
    pub async fn halts(&self, mut body: Value) -> String {
        body["reason"] = json!("stop it");
        let answer = self.post("root-of-all", "/v1/halts", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        id(&answer.json())
    }

    pub async fn delete(&self, who: &str, path: &str) -> Answer {
        http::send(&self.url, "DELETE", path, &token(who), &[], "").await
    }

    /// An admin lifts a halt.
    pub async fn lifts(&self, halt: &str) -> Value {
        let answer = self.delete("root-of-all", &format!("/v1/halts/{halt}")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    pub async fn halt_status(&self, who: &str) -> Value {
        self.get(who, "/v1/halts").await.json()
    }

    /// All that `who` may see of the log, each payload read.
    pub async fn log(&self, who: &str) -> Vec<Value> {
        let mut entries = Vec::new();
        let mut after = 0;
        loop {
            let page = self.get(who, &format!("/v1/audit?limit=1000&after={after}")).await.json();
            entries.extend(page["entries"].as_array().unwrap().iter().cloned());
            match page["next"].as_u64() {
                Some(next) => after = next,
                None => break,
            }
        }
        for entry in &mut entries {
            entry["payload"] = serde_json::from_str(entry["payload"].as_str().unwrap()).unwrap();
        }
        entries
    }

    /// The types of the events of one stream, in order.
    pub async fn story(&self, stream: &str) -> Vec<String> {
        kinds(self.log("vera").await.iter().filter(|entry| entry["stream"] == stream))
    }
}

pub fn kinds<'a>(entries: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    entries.into_iter().map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
}

pub fn id(value: &Value) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

pub fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap_or_else(|| panic!("no list: {list}")).iter().map(id).collect()
}

/// The query that names an agent, and a session unless it is empty.
pub fn of(agent: &str, session: &str) -> String {
    let session = if session.is_empty() { String::new() } else { format!("&session_id={session}") };
    format!("agent_id={agent}{session}")
}

pub async fn waited(url: &str, who: &str, agent: &str, session: &str, timeout_ms: u64) -> Value {
    let path = format!("/v1/clearance/wait?{}&timeout_ms={timeout_ms}", of(agent, session));
    let answer = http::send(url, "GET", &path, &token(who), &[], "").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Whether the wait ended so, and with these questions among its answers, in this order.
pub fn ended(waited: &Value, cleared: bool, reason: &str, answers: &[(&str, Value)]) {
    let given: Vec<_> =
        waited["answers"].as_array().unwrap().iter().map(|a| (&a["question_id"], &a["answer"])).collect();
    let expected: Vec<_> = answers.iter().map(|(id, answer)| (json!(id), answer.clone())).collect();
    let expected: Vec<_> = expected.iter().map(|(id, answer)| (id, answer)).collect();
    assert_eq!((&waited["cleared"], &waited["reason"], given), (&json!(cleared), &json!(reason), expected), "{waited}");
}

/// Waits until every node says so: a node hears of what another one wrote a moment later.
pub async fn settles(nodes: &[Node], agent: &str, session: &str, can_proceed: bool) {
    for node in nodes {
        let mut tries = 0;
        while node.can_proceed(agent, session).await != can_proceed {
            tries += 1;
            let clearance = node.clearance(agent, session).await;
            assert!(tries < 300, "{agent} in {session:?}: {can_proceed} was expected: {clearance}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Waits until every node knows that exactly these cover the agent.
pub async fn covered(nodes: &[Node], agent: &str, session: &str, by: &[&str]) {
    for node in nodes {
        let mut tries = 0;
        loop {
            let blockers = node.blockers(agent, session).await;
            if blockers == by {
                break;
            }
            tries += 1;
            assert!(tries < 300, "{agent} in {session:?}: {by:?} was expected, not {blockers:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
