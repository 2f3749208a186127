//! A script that knows nothing of our code verifies an export, and finds what was done to it.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use folkmoot_core::gate::Choice;
use serde_json::{Value, json};

use crate::node::Node;

const SCRIPT: &str = include_str!("../../../../docs/verify.py");

#[test]
fn the_script_is_short_and_shown_as_it_is() {
    assert!(SCRIPT.lines().count() <= 30, "thirty lines were promised");
    assert!(include_str!("../../../../docs/audit.md").contains(SCRIPT), "docs/audit.md shows another script");
}

#[tokio::test]
async fn a_script_of_thirty_lines_finds_what_was_changed_removed_or_cut_off() {
    if !Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped the test of docs/verify.py: there is no python3 here");
        return;
    }
    let node = Node::start().await;
    a_past(&node).await;
    let lines = export(&node).await;
    let head_hash = node.get("vera", "/v1/audit/verify").await.json()["head_hash"].as_str().unwrap().to_owned();
    let (ok, said) = verify(&lines, Some(&head_hash));
    assert!(ok && said.contains(&format!("ok: {} events, head_hash {head_hash}", lines.len())), "{said}");

    for field in ["actor", "at", "command_id", "on_behalf_of", "payload", "session", "stream", "type"] {
        let n = lines.iter().position(|line| parse(line)[field].is_string()).expect("some event has each field");
        let mut changed = lines.clone();
        changed[n] = with_another_byte(&lines[n], field);
        finds(&changed, &format!("event {} was changed", n + 1));
    }
    let mut removed = lines.clone();
    removed.remove(3);
    finds(&removed, "event 4 is missing");
    let mut moved = lines.clone();
    moved.swap(4, 5);
    finds(&moved, "event 5 is missing");
    let mut grafted = lines.clone();
    grafted.insert(0, lines[0].clone());
    finds(&grafted, "event 2 is missing");

    let cut = &lines[..lines.len() - 1];
    assert!(verify(cut, None).0, "a chain alone cannot notice that its end is gone");
    let (ok, said) = verify(cut, Some(&head_hash));
    assert!(!ok && said.contains("the end is missing"), "{said}");
}

async fn a_past(node: &Node) {
    let plain = node.open("Straße, naïve, 日本語 and \u{1f389}").await;
    node.say("alice", &plain, Choice::Approve).await.unwrap();
    let body = json!({"summary": "with all fields", "session_id": "s-1", "run_id": "r-1", "on_behalf_of": "planner"});
    let gate = node.opened(body).await;
    let path = format!("/v1/gates/{}", gate["id"].as_str().unwrap());
    assert_eq!(node.post("agent-a", &format!("{path}/approve"), json!({})).await.code(), "role_may_not");
    let reason = json!({"reason": "\"quoted\",\nand on two lines"});
    assert_eq!(node.post("bob", &format!("{path}/reject"), reason).await.status, 200);
}

/// What `folkmoot audit export` writes: one entry a line. In small pages, so that there are several.
async fn export(node: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    let mut after = 0;
    loop {
        let page = node.get("vera", &format!("/v1/audit?after={after}&limit=4")).await.json();
        lines.extend(page["entries"].as_array().unwrap().iter().map(Value::to_string));
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => return lines,
        }
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}

fn with_another_byte(line: &str, field: &str) -> String {
    let mut entry = parse(line);
    let mut text = entry[field].as_str().unwrap().to_owned();
    let last = text.pop();
    text.push(if last == Some('0') { '1' } else { '0' });
    entry[field] = json!(text);
    entry.to_string()
}

fn finds(lines: &[String], what: &str) {
    let (ok, said) = verify(lines, None);
    assert!(!ok && said.contains(what), "{what:?} was expected, and this was said:\n{said}");
}

fn verify(lines: &[String], kept: Option<&str>) -> (bool, String) {
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT, "-"])
        .args(kept)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    // Dropped at the end of the statement, which closes it.
    python.stdin.take().expect("it was piped").write_all((lines.join("\n") + "\n").as_bytes()).expect("python3 reads");
    let output = python.wait_with_output().expect("python3 ends");
    (output.status.success(), String::from_utf8(output.stdout).expect("the script prints UTF-8"))
}
