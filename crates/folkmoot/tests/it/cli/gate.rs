//! The verbs of whoever asks.

use super::{Desk, run};
use crate::server::folkmoot;

#[test]
fn artifacts_come_from_files_and_from_standard_input() {
    let desk = Desk::new();
    let file = desk.path().join("notes.md");
    std::fs::write(&file, "# Notes\n").unwrap();
    let named = format!("report={}", file.display());
    let arguments = ["gate", "open", "Merge", "-a", "change.diff=-", "-a", file.to_str().unwrap(), "-a", &named];
    let opened = desk.run_with(&arguments, "-old\n+new\n");
    assert_eq!(opened.code, 0, "{opened:?}");
    let gate = desk.json(&["gate", "show"]);
    let told = |artifact: &serde_json::Value| {
        ["name", "media_type", "content"].map(|key| artifact[key].as_str().unwrap().to_owned()).join(" ")
    };
    let artifacts: Vec<_> = gate["artifacts"].as_array().unwrap().iter().map(told).collect();
    let wanted =
        ["change.diff text/x-diff -old\n+new\n", "notes.md text/markdown # Notes\n", "report text/markdown # Notes\n"];
    assert_eq!(artifacts, wanted);
    assert_eq!(run(folkmoot(desk.path()).args(["gate", "show", "--diff"])).stdout, "-old\n+new\n");
    assert_eq!(run(folkmoot(desk.path()).args(["gate", "show", "--artifact", "report"])).stdout, "# Notes\n");
}

#[test]
fn the_summary_can_be_read_too_but_standard_input_only_once() {
    let desk = Desk::new();
    let opened = desk.run_with(&["gate", "open", "--summary-file", "-"], "Deploy 1.4.2\n\nIt is time.\n");
    assert_eq!(opened.code, 0, "{opened:?}");
    assert_eq!(desk.pending(1)[0]["title"], "Deploy 1.4.2");
    let twice = desk.run_with(&["gate", "open", "--summary-file", "-", "-a", "-"], "x");
    assert_eq!((twice.code, twice.stderr.contains("only once")), (1, true), "{twice:?}");
}

#[test]
fn what_an_agent_writes_cannot_move_the_cursor() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "harmless \u{1b}[2J\u{202e}\u{200b}title"]);
    for verb in [&["gate", "list"][..], &["gate", "show"], &["status"], &["approve"]] {
        let said = desk.say(verb);
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{verb:?}: {said}");
        assert!(said.contains("harmless \u{fffd}[2J<U+202E><U+200B>title"), "{verb:?}: {said}");
    }
}

#[test]
fn a_gate_is_amended_extended_and_cancelled_by_its_requester() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy 1.4.2"]);
    let amended = desk.json(&["gate", "amend", "--title", "Deploy 1.4.3"]);
    assert_eq!((&amended["title"], &amended["revision"]), (&"Deploy 1.4.3".into(), &2.into()));
    let extended = desk.json(&["gate", "extend", "--timeout", "never"]);
    assert!(extended["deadline"].is_null());
    let cancelled = desk.json(&["gate", "cancel", "--reason", "1.4.4 is out"]);
    assert_eq!((&cancelled["status"], &cancelled["decision"]["reason"]), (&"cancelled".into(), &"1.4.4 is out".into()));
    let nothing = desk.run(&["gate", "amend"]);
    assert_eq!((nothing.code, nothing.stderr.contains("say what to change")), (1, true), "{nothing:?}");
}

#[test]
fn asking_twice_with_one_key_opens_one_gate() {
    let desk = Desk::new();
    let ask = ["gate", "open", "Deploy", "--dedupe-key", "deploy-1"];
    assert_eq!(desk.say(&ask), desk.say(&ask));
    let ask = ["gate", "open", "Merge", "--idempotency-key", "merge-1"];
    assert_eq!(desk.say(&ask), desk.say(&ask));
    desk.pending(2);
}

#[test]
fn lists_put_risk_first_and_can_be_narrowed() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "small", "--risk", "low", "--run", "run-1"]);
    desk.say(&["gate", "open", "large", "--risk", "critical"]);
    let titles = |arguments: &[&str]| -> Vec<String> {
        let list = desk.json(arguments);
        list["gates"].as_array().unwrap().iter().map(|gate| gate["title"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&["gate", "list"]), ["large", "small"]);
    assert_eq!(titles(&["gate", "list", "--run", "run-1"]), ["small"]);
    desk.say(&["approve", "--comment", "fine", desk.pending(2)[0]["id"].as_str().unwrap()]);
    assert_eq!(titles(&["gate", "list"]), ["small"]);
    assert_eq!(titles(&["gate", "list", "--status", "approved"]), ["large"]);
    assert_eq!(titles(&["status", "--waiting"]), ["small"]);
}

#[test]
fn a_pipe_gets_plain_columns_with_whole_ids() {
    let desk = Desk::new();
    let id = desk.say(&["gate", "open", "Deploy 1.4.2", "--risk", "high", "--timeout", "never"]);
    let list = desk.say(&["gate", "list"]);
    let width = id.len();
    let wanted = format!(
        "{:width$}  STATUS   RISK  ASKED BY  TIME      TITLE\n{id}  pending  high  agent     no limit  Deploy 1.4.2",
        "GATE"
    );
    assert_eq!(list, wanted);
}
