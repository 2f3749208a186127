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

    for field in ["actor", "at", "command_id", "on_behalf_of", "payload", "session", "stream", "token_id", "type"] {
        let n = lines.iter().position(|line| parse(line)[field].is_string()).expect("some event has each field");
        let mut changed = lines.clone();
        changed[n] = with_another_byte(&lines[n], field);
        finds(&changed, &format!("event {} was changed", n + 1));
    }
    let n =
        lines.iter().position(|line| parse(line)["token_id"].is_string()).expect("somebody with a token did something");
    let mut unnamed = lines.clone();
    unnamed[n] = with(&lines[n], "token_id", Value::Null);
    finds(&unnamed, &format!("event {} was changed", n + 1));
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

    // `folkmoot audit export --checkpoint` puts one at the end; one that was kept elsewhere is
    // given.
    let checkpoint = node.get("vera", "/v1/audit/checkpoint").await.body;
    let checked = |lines: &[String]| lines.iter().chain([&checkpoint]).cloned().collect::<Vec<_>>();
    assert!(verify(&checked(&lines), Some(&checkpoint)).0);
    finds(&checked(cut), "the end is missing");
    let (ok, said) = verify(cut, Some(&checkpoint));
    assert!(!ok && said.contains("the end is missing"), "{said}");
}

const RECEIPT_SCRIPT: &str = include_str!("../../../../docs/check_receipt.py");

/// Whether this can be run here.
fn there_is(program: &str) -> bool {
    let there = Command::new(program).arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !there {
        eprintln!("skipped a test of docs/check_receipt.py: there is no {program} here");
    }
    there
}

#[tokio::test]
async fn a_script_with_openssl_checks_a_receipt_and_a_checkpoint() {
    if !there_is("python3") || !there_is("openssl") {
        return;
    }
    let node = Node::start().await;
    let artifact = json!({"name": "change.diff", "media_type": "text/x-diff", "content": "+ä\n-\u{1f389}\u{1}"});
    let secret = json!({"name": "note", "media_type": "text/plain", "content": "sk-secret"});
    let gate = node.opened(json!({"summary": "Straße \"1\"", "artifacts": [artifact, secret]})).await;
    let id = gate["id"].as_str().unwrap();
    let path = format!("/v1/gates/{id}");
    let pending = node.get("agent-a", &format!("{path}/receipt")).await.json();
    assert_eq!((&pending["status"], &pending["decision"]), (&json!("pending"), &Value::Null));
    let agent = crate::node::token("agent-a");
    let amended = crate::http::send(&node.url, "PATCH", &path, &agent, &[], r#"{"summary": "Gasse"}"#).await;
    assert_eq!(amended.status, 200, "{amended:?}");
    let verdict = json!({"reason": "tested", "digest": amended.json()["digest"]});
    assert_eq!(node.post("alice", &format!("{path}/approve"), verdict).await.status, 200);
    let body = json!({"reason": "a key was in it"}).to_string();
    let erase = format!("/v1/artifacts/{}", gate["artifacts"][1]["digest"].as_str().unwrap());
    let erased = crate::http::send(&node.url, "DELETE", &erase, &crate::node::token("root-of-all"), &[], &body).await;
    assert_eq!(erased.status, 200, "{erased:?}");

    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key.pem");
    let fetched = crate::http::send(&node.url, "GET", "/v1/audit/key", "", &[], "").await;
    std::fs::write(&key, fetched.body).unwrap();
    let file = folder.path().join("receipt.json");
    let check = |receipt: &Value, key: &std::path::Path| {
        std::fs::write(&file, receipt.to_string()).unwrap();
        let output = Command::new("python3").args(["-c", RECEIPT_SCRIPT]).arg(&file).arg(key).output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (ok, said) = check(&pending, &key);
    assert!(ok && said.contains("not decided yet"), "{said}");
    let receipt = node.get("agent-a", &format!("{path}/receipt")).await.json();
    let (ok, said) = check(&receipt, &key);
    assert!(ok && said.contains(&format!("ok: {id} approved by alice at")), "{said}");

    let changed = |change: &dyn Fn(&mut Value)| {
        let mut changed = receipt.clone();
        change(&mut changed);
        check(&changed, &key)
    };
    let (ok, said) = changed(&|receipt| receipt["decision"]["reviewer"] = json!("mallory"));
    assert!(!ok && said.contains("not signed with this key") && said.contains("not the one in the events"), "{said}");
    let (ok, said) = changed(&|receipt| receipt["events"][0]["token_id"] = json!("tok-of-another"));
    let position = &receipt["events"][0]["position"];
    assert!(!ok && said.contains(&format!("event {position} was changed")), "{said}");
    let (ok, said) = changed(&|receipt| receipt["shown"][1]["summary"]["text"] = json!("something else"));
    assert!(!ok && said.contains("revision 2 has the digest"), "{said}");
    // Whoever shows the first of two members shows what was not signed.
    let text = receipt.to_string();
    let twice = |text: &str, member: &str, forged: &str| text.replacen(member, &format!("{forged},{member}"), 1);
    for text in [
        twice(&text, &format!("\"gate\":\"{id}\""), "\"gate\":\"another\""),
        twice(&text, "\"revision\":2", "\"revision\":1"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = Command::new("python3").args(["-c", RECEIPT_SCRIPT]).arg(&file).arg(&key).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said == "this is no receipt: a member is there twice\n", "{said}");
    }
    let other = folder.path().join("other.pem");
    std::fs::write(&other, folkmoot_server::ServerKey::new([9; 32]).public().to_pem()).unwrap();
    let (ok, said) = check(&receipt, &other);
    assert!(!ok && said.contains("was not signed with this key"), "{said}");
    assert_eq!(node.get("agent-b", &format!("{path}/receipt")).await.code(), "unknown_gate", "it is another's");
}

#[tokio::test]
async fn everybody_but_agents_takes_checkpoints_and_nobody_needs_a_token_for_the_key() {
    let node = Node::start().await;
    for who in ["root-of-all", "alice", "vera"] {
        let checkpoint = node.get(who, "/v1/audit/checkpoint").await.json();
        let key = folkmoot_server::signed::check(&checkpoint, None).unwrap();
        let pem = crate::http::send(&node.url, "GET", "/v1/audit/key", "", &[], "").await.body;
        assert_eq!(folkmoot_server::PublicKey::from_pem(&pem), Some(key));
    }
    assert_eq!(node.get("agent-a", "/v1/audit/checkpoint").await.code(), "role_may_not");
    assert_eq!(crate::http::send(&node.url, "GET", "/v1/audit/checkpoint", "", &[], "").await.status, 401);
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

/// What `folkmoot audit export` writes: one entry a line. In small pages, so that there are
/// several.
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
    let mut text = parse(line)[field].as_str().unwrap().to_owned();
    let last = text.pop();
    text.push(if last == Some('0') { '1' } else { '0' });
    with(line, field, json!(text))
}

fn with(line: &str, field: &str, value: Value) -> String {
    let mut entry = parse(line);
    entry[field] = value;
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
