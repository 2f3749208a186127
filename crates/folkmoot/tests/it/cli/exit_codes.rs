//! What a shell script learns from a gate.

use super::Desk;

/// Opens a gate that waits in one terminal, decides in another, and returns how the waiter ended.
fn waits(open: &[&str], decide: &[&str]) -> (i32, String) {
    let desk = Desk::new();
    let waiter = desk.spawn(&[&["gate", "open", "Deploy", "--wait"], open].concat());
    desk.pending(1);
    desk.say(decide);
    let ended = waiter.finish();
    (ended.code, ended.stdout.split(" after ").next().unwrap_or_default().to_owned())
}

#[test]
fn the_decision_is_the_exit_code() {
    let you = Desk::new().json(&["token", "list"])["tokens"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(waits(&[], &["approve"]), (0, format!("approved by {you}")));
    assert_eq!(waits(&[], &["reject", "--reason", "no"]), (3, format!("rejected by {you}")));
    assert_eq!(
        waits(&["--kind", "proposal"], &["adjust", "--feedback", "smaller"]),
        (3, format!("adjust requested by {you}"))
    );
    assert_eq!(waits(&["--kind", "checkpoint"], &["pause"]), (3, format!("paused by {you}")));
    assert_eq!(waits(&[], &["gate", "cancel"]), (3, "cancelled by agent".to_owned()));
}

#[test]
fn a_wait_that_is_over_before_the_gate_is_4_and_leaves_it_open() {
    let desk = Desk::new();
    let ended = desk.run(&["gate", "open", "Deploy", "--wait", "--wait-timeout", "100ms"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (4, "still waiting\n"), "{ended:?}");
    let waited = desk.run(&["gate", "wait", "--timeout", "50ms"]);
    assert_eq!(waited.code, 4, "{waited:?}");
    assert!(waited.stderr.contains("Waiting for a decision: Deploy\n"), "{waited:?}");
    desk.pending(1);
}

#[test]
fn a_gate_that_timed_out_is_5_also_for_whoever_comes_later() {
    let desk = Desk::new();
    let ended = desk.run(&["gate", "open", "Deploy", "--timeout", "100ms", "--wait"]);
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(ended.stdout.starts_with("timed out after "), "{ended:?}");
    let id = desk.json(&["gate", "list", "--all"])["gates"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["gate", "wait", &id]).code, 5);
}

#[test]
fn silence_is_consent_only_where_a_person_said_so() {
    let desk = Desk::new();
    let asks = ["gate", "open", "Deploy", "--timeout", "100ms", "--on-timeout", "approve", "--wait"];
    let agent = desk.run(&asks);
    assert_eq!((agent.code, agent.stderr.contains("weaken")), (1, true), "{agent:?}");
    let you = desk.run(&[&asks[..], &["--as", "you"]].concat());
    assert_eq!((you.code, you.stdout.contains("lets its run pass")), (0, true), "{you:?}");
}

#[test]
fn an_early_decision_is_found_by_whoever_waits_later() {
    let desk = Desk::new();
    let id = desk.say(&["gate", "open", "Deploy"]);
    desk.say(&["approve"]);
    assert_eq!(desk.run(&["gate", "wait", &id]).code, 0);
    assert_eq!(desk.run(&["gate", "wait", &id[id.len() - 8..]]).code, 0);
}

#[test]
fn a_wrong_command_line_is_2() {
    let desk = Desk::new();
    for wrong in [&["nonsense"][..], &["gate", "open"], &["reject"], &["gate", "open", "x", "--timeout", "30"]] {
        assert_eq!(desk.run(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn ctrl_c_leaves_the_gate_open() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["gate", "open", "Deploy", "--wait"]);
    desk.pending(1);
    crate::server::signal(waiter.pid(), "INT");
    let ended = waiter.finish();
    assert_eq!((ended.code, ended.stderr.contains("gate wait")), (4, true), "{ended:?}");
    desk.pending(1);
}
