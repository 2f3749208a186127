//! What a log says about who was halted and who was released, worked out again by the simplest
//! means there are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

/// What holds whom at the end of a log: each question or halt, and its targets (`agent:a1`,
/// `session:s1`, `system:`).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Held(pub BTreeMap<String, BTreeSet<String>>);

impl Held {
    /// Everything that covers this agent in this session.
    pub fn covering(&self, agent: &str, session: &str) -> BTreeSet<String> {
        let targets = [format!("agent:{agent}"), format!("session:{session}"), "system:".to_owned()];
        let covers = |held: &BTreeSet<String>| targets.iter().any(|target| held.contains(target));
        self.0.iter().filter(|(_, held)| covers(held)).map(|(id, _)| id.clone()).collect()
    }

    fn holds(&self, target: &str) -> bool {
        self.0.values().any(|targets| targets.contains(target))
    }
}

/// Follows a whole log, and checks that every `halted` is said exactly when something begins to
/// hold, and every `resumed` exactly when the last hold has gone, in the same breath.
pub fn replay(log: &[Value]) -> Held {
    let mut held = Held::default();
    let mut to_be_said: VecDeque<(String, String)> = VecDeque::new();
    for entry in log {
        let (kind, stream, payload) =
            (entry["type"].as_str().unwrap(), entry["stream"].as_str().unwrap(), &entry["payload"]);
        if let Some((level, word)) = kind.split_once('.').filter(|(_, word)| ["halted", "resumed"].contains(word)) {
            let name = match level {
                "agent" => payload["agent_id"].as_str().unwrap(),
                "session" => payload["session_id"].as_str().unwrap(),
                _ => "",
            };
            let said = (word.to_owned(), format!("{level}:{name}"));
            let place = to_be_said.iter().position(|expected| *expected == said);
            let place =
                place.unwrap_or_else(|| panic!("{said:?} is not true at {entry}; {to_be_said:?} was to be said"));
            to_be_said.remove(place);
            let by = payload["question_id"].as_str().or(payload["halt_id"].as_str()).unwrap();
            assert_eq!(by, stream, "{entry}");
            if word == "resumed" {
                assert!(payload["can_proceed"].is_boolean(), "{entry}");
            }
            continue;
        }
        assert_eq!(to_be_said, [], "was not said before {entry}");
        let before = held.0.remove(stream).unwrap_or_default();
        let after: BTreeSet<String> = match kind {
            "question.asked" | "halt.raised" => {
                let scope = if kind == "halt.raised" { &payload["scope"] } else { &payload["halts"] };
                targets(payload, scope)
            }
            "question.denied" => before.iter().filter(|target| target.starts_with("agent:")).cloned().collect(),
            "question.answered" | "question.skipped" | "question.cancelled" | "question.expired"
            | "question.fetched" | "halt.lifted" => BTreeSet::new(),
            _ => before.clone(),
        };
        to_be_said.extend(after.difference(&before).map(|target| ("halted".to_owned(), target.clone())));
        let gone = before.difference(&after).filter(|target| !held.holds(target));
        to_be_said.extend(gone.map(|target| ("resumed".to_owned(), target.clone())));
        if !after.is_empty() {
            held.0.insert(stream.to_owned(), after);
        }
    }
    assert_eq!(to_be_said, [], "was not said at the end");
    held
}

fn targets(payload: &Value, scope: &Value) -> BTreeSet<String> {
    let mut targets = BTreeSet::new();
    if scope.is_null() {
        return targets;
    }
    targets.extend(payload["agent_id"].as_str().map(|agent| format!("agent:{agent}")));
    if *scope != json!("agent") {
        targets.extend(payload["session_id"].as_str().map(|session| format!("session:{session}")));
    }
    if *scope == json!("all") {
        targets.insert("system:".to_owned());
    }
    targets
}
