//! `--json` prints what the server sends, and nothing beside it.

use serde_json::Value;

use super::Desk;

#[test]
fn results_are_one_line_of_the_wires_json() {
    let desk = Desk::new();
    let opened = desk.run(&["--json", "gate", "open", "Deploy"]);
    assert_eq!((opened.stdout.lines().count(), opened.stderr.as_str()), (1, ""));
    let opened: Value = serde_json::from_str(&opened.stdout).unwrap();
    assert_eq!((&opened["status"], &opened["summary"]), (&"pending".into(), &"Deploy".into()));
    for verb in [&["status"][..], &["gate", "list"], &["status", "--waiting"]] {
        assert_eq!(desk.json(verb)["gates"][0]["id"], opened["id"], "{verb:?}");
    }
    let decided = desk.json(&["approve", "--comment", "tested"]);
    assert_eq!((&decided["status"], &decided["decision"]["reason"]), (&"approved".into(), &"tested".into()));
    let waited = desk.run(&["gate", "wait", opened["id"].as_str().unwrap(), "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&waited.stdout).unwrap(), decided);
    assert_eq!(desk.json(&["audit", "verify"])["ok"], true);
}

#[test]
fn a_waiter_prints_the_decided_gate_alone() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["--json", "gate", "open", "Deploy", "--wait"]);
    desk.pending(1);
    desk.say(&["approve"]);
    let ended = waiter.finish();
    assert_eq!(serde_json::from_str::<Value>(&ended.stdout).unwrap()["status"], "approved");
    assert_eq!(ended.stderr, "");
}

#[test]
fn errors_are_json_too() {
    let desk = Desk::new();
    let told = |arguments: &[&str]| -> (i32, Value) {
        let ended = desk.run(arguments);
        assert_eq!(ended.stdout, "", "{ended:?}");
        (ended.code, serde_json::from_str(&ended.stderr).unwrap_or_else(|_| panic!("{ended:?}")))
    };
    let (code, problem) = told(&["--json", "gate", "show", "gate-external-custom-1-0123456789abcdef"]);
    assert_eq!((code, &problem["code"], &problem["status"]), (1, &"unknown_gate".into(), &404.into()));
    let (code, problem) = told(&["--json", "approve"]);
    assert_eq!((code, &problem["detail"]), (1, &"no gate is waiting".into()));
    let (code, problem) = told(&["--json", "gate", "open"]);
    assert_eq!((code, &problem["code"]), (2, &"usage".into()));
}
