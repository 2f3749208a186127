//! `folkmoot plan`, as it is used: at a terminal, in a pipe, left and taken up again.

use serde_json::Value;

use super::{Desk, Terminal, run, talk::Talk};
use crate::server::{YOURS, eventually, folkmoot_with};

const GOAL: &str = "Open a second bakery";

#[test]
fn one_iteration_needs_nobody_and_prints_the_plan() {
    let desk = Desk::new();
    let plan = desk.say(&["plan", GOAL, "--iterations", "1", "--provider", "rehearsal"]);
    assert!(plan.contains("## Executive summary") && plan.contains("## Implementation plan"), "{plan}");
    let listed = desk.say(&["plan", "list"]);
    assert!(listed.contains("complete") && listed.contains(GOAL), "{listed}");
    let html = desk.say(&["plan", "export", "--html"]);
    assert!(html.starts_with("<!doctype html>") && html.contains("<h2>Executive summary</h2>"), "{html}");
    let file = desk.path().join("plan.md");
    desk.say(&["plan", "export", "-o", file.to_str().unwrap()]);
    assert!(std::fs::read_to_string(file).unwrap().starts_with("# Open a second bakery"), "as a file");
    let shown: Value = serde_json::from_str(&desk.say(&["--json", "plan", "show"])).unwrap();
    assert_eq!(shown["result"]["entities"][0]["name"], "executive_summary_report");
    // And the next one builds on it.
    let part = format!("{}/executive_summary_report", shown["id"].as_str().unwrap());
    desk.say(&["plan", "A third one", "--iterations", "1", "--with", &part, "--provider", "rehearsal"]);
    let unknown = desk.run(&["plan", "A fourth one", "--with", "nowhere/nothing"]);
    assert_eq!((unknown.code, unknown.stderr.contains("\"nowhere\" is no plan")), (1, true), "{unknown:?}");
}

#[test]
fn at_a_terminal_it_asks_and_does_what_is_said() {
    let desk = Desk::new();
    let plan = "plan 'Open a second bakery' --iterations 4 --checkpoint 2 --provider rehearsal";
    let Some(mut talk) = Talk::begin(&desk, plan) else { return };
    talk.when("[a]pprove, [r]eject, a[d]just?", "what?\n");
    talk.when("Type one of the letters in brackets", "d\n");
    talk.when("What should change?", "Begin with the ovens\n");
    talk.when("Changed after what was said about the last proposal: Begin with the ovens", "");
    talk.when("[a]pprove, [r]eject, a[d]just?", "a\n");
    talk.when("Iteration 2 of 4: Open a second bakery", "");
    talk.when("## Iteration 1: Who it is for", "");
    talk.when("2 new", "");
    talk.when("[c]ontinue, [p]ause, [a]djust, [r]eject?", "p\n");
    talk.when("The plan is complete", "");
    talk.when("## Executive summary", "");
    let (code, said) = talk.end();
    assert_eq!(code, 0, "{said}");
}

/// A key that is pressed again and again decides on what was shown, and not on what comes after it.
#[test]
fn what_is_typed_before_it_is_asked_decides_nothing() {
    let desk = Desk::new();
    let plan = "plan 'Open a second bakery' --iterations 4 --checkpoint 1 --provider rehearsal";
    let Some(mut talk) = Talk::begin(&desk, plan) else { return };
    talk.when("[a]pprove, [r]eject, a[d]just?", "a\nc\nc\nc\nc\n");
    talk.when("[c]ontinue", "\u{4}");
    talk.when("The plan waits.", "");
    let (code, said) = talk.end();
    assert_eq!(code, 4, "{said}");
    let pending = desk.pending(1);
    assert_eq!(pending[0]["title"], "Iteration 1 of 4: Open a second bakery");
}

#[test]
fn a_rejection_is_exit_code_three() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, "plan 'Open a second bakery' --provider rehearsal") else { return };
    talk.when("a[d]just?", "r\n");
    talk.when("Why?", "\n");
    talk.when("nothing was decided", "r\n");
    talk.when("Why?", "too dear\n");
    talk.when("Cancelled:", "");
    let (code, said) = talk.end();
    assert_eq!(code, 3, "{said}");
}

/// Whoever leaves it finds it again, at the same gate; and short verbs in between begin nothing of
/// it.
#[test]
fn a_plan_that_was_left_waits_and_is_taken_up_again() {
    let desk = Desk::new();
    let start = ["plan", GOAL, "--iterations", "2", "--detach", "--session", "s1", "--provider", "rehearsal"];
    assert_eq!(desk.say(&start), "s1");
    for _ in 0..3 {
        desk.say(&["status"]);
    }
    // The end of the input is no answer.
    let Some(mut talk) = Talk::begin(&desk, "plan follow") else { return };
    talk.when("a[d]just?", "\u{4}");
    talk.when("The plan waits.", "");
    assert_eq!(talk.end().0, 4);
    let shown = desk.say(&["plan", "show"]);
    assert!(shown.contains("awaiting approval"), "{shown}");
    let gates = desk.pending(1);
    let mut talk = Talk::begin(&desk, "plan follow s1").unwrap();
    talk.when("a[d]just?", "a\n");
    talk.when("[c]ontinue", "c\n");
    talk.when("The plan is complete", "");
    assert_eq!(talk.end().0, 0);
    let gate = desk.json(&["gate", "show", gates[0]["id"].as_str().unwrap()]);
    assert_eq!(gate["status"], "approved", "it was the same gate");
}

/// In a pipe it says how others decide, and waits for them.
#[test]
fn an_agent_that_switches_gates_off_for_itself_is_asked_all_the_same() {
    let desk = Desk::new();
    let agents = desk.say(&["token", "create", "planner-bot", "--role", "agent"]);
    let start = |token: &str| {
        let plan = ["plan", GOAL, "--iterations", "2", "--checkpoint", "1", "--provider", "rehearsal"];
        let mut verb = folkmoot_with(desk.path(), &plan);
        Terminal::new(verb.env("APPROVAL_GATES", "false").env("FOLKMOOT_TOKEN", token))
    };
    let asked = start(&agents);
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    desk.pending(1);
    drop(asked);
    // Nor by the name of the workflow, with an input of its own making.
    let input = r#"{"goal":"g","max_iterations":2,"checkpoint_interval":1,"gates_off":true}"#;
    let mut verb = folkmoot_with(desk.path(), &["start", "x", "--workflow", "plan@1", "--input", input]);
    let refused = run(verb.env("APPROVAL_GATES", "false").env("FOLKMOOT_TOKEN", &agents));
    assert_eq!((refused.code, refused.stderr.contains("gates_off")), (1, true), "{refused:?}");
    // Somebody who could approve each of them may do without them.
    let ended = start(YOURS).finish();
    assert_eq!(ended.code, 0, "{ended:?}");
    desk.pending(1);
}

#[test]
fn without_a_terminal_others_decide() {
    let desk = Desk::new();
    let waiting = desk.spawn(&["plan", GOAL, "--iterations", "2", "--provider", "rehearsal"]);
    // It serves the folder itself; whoever comes before it would, for a moment.
    eventually("it serves", || desk.path().join("server.json").exists().then_some(()));
    for _ in 0..2 {
        let gates = desk.pending(1);
        let id = gates[0]["id"].as_str().unwrap();
        let shown = desk.say(&["gate", "show", id]);
        assert!(shown.contains(" asked by agent (workflow:plan@1) "), "{shown}");
        assert!(desk.say(&["gate", "list", "--requester", "agent"]).contains(id), "it is found by who started it");
        desk.say(&["approve", "-y", id]);
    }
    let ended = waiting.finish();
    assert_eq!((ended.code, ended.stdout.contains("## Executive summary")), (0, true), "{ended:?}");
    assert!(ended.stderr.contains("Somebody who may decide must do so"), "{ended:?}");
    assert!(!ended.stderr.contains(" approve "), "an agent is not told how to decide: {ended:?}");
}

#[test]
fn what_cannot_be_planned_is_said_before_anything_is_started() {
    let desk = Desk::new();
    for arguments in [&["plan"][..], &["plan", GOAL, "--iterations", "21"], &["plan", GOAL, "--checkpoint", "0"]] {
        assert_eq!(desk.run(arguments).code, 2, "{arguments:?}");
    }
    let none = desk.run(&["plan", "show"]);
    assert_eq!((none.code, none.stderr.contains("there is no plan")), (1, true), "{none:?}");
}
