//! `folkmoot plan`, as it is used: at a terminal, in a pipe, left and taken up again.

use serde_json::Value;

use super::{Desk, prompt::at_a_terminal};

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
    assert_eq!((unknown.code, unknown.stderr.contains("there is no \"nowhere/nothing\"")), (1, true), "{unknown:?}");
}

#[test]
fn at_a_terminal_it_asks_and_does_what_is_said() {
    let desk = Desk::new();
    let plan = "plan 'Open a second bakery' --iterations 4 --checkpoint 2 --provider rehearsal";
    let Some(ended) = at_a_terminal(&desk, plan, "what?\nd\nBegin with the ovens\na\np\n") else { return };
    assert_eq!(ended.code, 0, "{ended:?}");
    let mut rest = ended.stdout.as_str();
    for expected in [
        "Plan: Open a second bakery",
        "A plan for: Open a second bakery",
        "[a]pprove, [r]eject, a[d]just?",
        "[a]pprove, [r]eject, a[d]just?",
        "What should change?",
        "Changed after what was said about the last proposal: Begin with the ovens",
        "[a]pprove, [r]eject, a[d]just?",
        "Iteration 2 of 4: Open a second bakery",
        "Iteration 1: Who it is for",
        "2 of 4",
        "2 new",
        "[c]ontinue, [p]ause, [a]djust, [r]eject?",
        "The plan is complete",
        "2 of 4 iterations",
        "## Executive summary",
        "plan export",
    ] {
        let at = rest.find(expected).unwrap_or_else(|| panic!("no {expected:?} in {rest}\nof {}", ended.stdout));
        rest = &rest[at + expected.len()..];
    }
}

#[test]
fn a_rejection_is_exit_code_three() {
    let desk = Desk::new();
    let plan = "plan 'Open a second bakery' --provider rehearsal";
    let Some(ended) = at_a_terminal(&desk, plan, "r\ntoo dear\n") else { return };
    assert_eq!((ended.code, ended.stdout.contains("Cancelled:")), (3, true), "{ended:?}");
}

/// Whoever leaves it finds it again, at the same gate; and short verbs in between begin nothing of it.
#[test]
fn a_plan_that_was_left_waits_and_is_taken_up_again() {
    let desk = Desk::new();
    let start = ["plan", GOAL, "--iterations", "2", "--detach", "--session", "s1", "--provider", "rehearsal"];
    assert_eq!(desk.say(&start), "s1");
    for _ in 0..3 {
        desk.say(&["status"]);
    }
    // The end of the input is no answer.
    let Some(left) = at_a_terminal(&desk, "plan follow", "\u{4}") else { return };
    assert_eq!((left.code, left.stdout.contains("The plan waits.")), (4, true), "{left:?}");
    let shown = desk.say(&["plan", "show"]);
    assert!(shown.contains("awaiting approval"), "{shown}");
    let gates = desk.pending(1);
    let Some(ended) = at_a_terminal(&desk, "plan follow s1", "a\nc\n") else { return };
    assert_eq!((ended.code, ended.stdout.contains("The plan is complete")), (0, true), "{ended:?}");
    let gate = desk.json(&["gate", "show", gates[0]["id"].as_str().unwrap()]);
    assert_eq!(gate["status"], "approved", "it was the same gate");
}

/// In a pipe it says how others decide, and waits for them.
#[test]
fn without_a_terminal_others_decide() {
    let desk = Desk::new();
    let waiting = desk.spawn(&["plan", GOAL, "--iterations", "2", "--provider", "rehearsal"]);
    for _ in 0..2 {
        let gates = desk.pending(1);
        desk.say(&["approve", "-y", gates[0]["id"].as_str().unwrap()]);
    }
    let ended = waiting.finish();
    assert_eq!((ended.code, ended.stdout.contains("## Executive summary")), (0, true), "{ended:?}");
    assert!(ended.stderr.contains("folkmoot") && ended.stderr.contains(" approve "), "{ended:?}");
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
