//! A question is asked only where somebody can answer it.

use std::process::{Child, Command, Stdio};

use super::{Desk, Ended, piped, talk::Talk};
use crate::server::{YOURS, clean, folkmoot};

#[test]
fn without_a_terminal_nothing_is_asked_of_a_script_with_a_token_of_its_own() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    let decided = desk.run_with(&["approve"], "n\n");
    assert_eq!((decided.code, decided.stdout.contains("[y/N]")), (0, false), "{decided:?}");
}

#[test]
fn at_a_terminal_the_gate_is_shown_and_only_yes_is_yes() {
    let desk = Desk::new();
    desk.run_with(&["gate", "open", "Deploy", "-a", "change.diff=-"], "+new\n");
    for no in ["\n", "n\n", "what?\n"] {
        let Some(ended) = at_a_terminal(&desk, "approve", no) else { return };
        assert_eq!(ended.code, 4, "{ended:?}");
        assert!(ended.stdout.contains("Nothing was decided."), "{ended:?}");
    }
    desk.pending(1);
    let Some(ended) = at_a_terminal(&desk, "approve", "y\n") else { return };
    assert_eq!(ended.code, 0, "{ended:?}");
    for shown in ["Deploy", "+new", "Approve this? [y/N]", "approved"] {
        assert!(ended.stdout.contains(shown), "{shown}: {ended:?}");
    }
    desk.pending(0);
}

#[test]
fn at_a_terminal_nobody_approves_at_high_risk_what_was_not_shown() {
    for (risk, whole) in [("low", false), ("high", true), ("critical", true)] {
        let desk = Desk::new();
        let diff = format!("{}+the last line\n", "+one of many\n".repeat(60));
        desk.run_with(&["gate", "open", "Deploy", "--risk", risk, "-a", "change.diff=-"], &diff);
        let Some(ended) = at_a_terminal(&desk, "approve", "y\n") else { return };
        assert_eq!(ended.code, 0, "{ended:?}");
        assert_eq!(ended.stdout.contains("+the last line"), whole, "{risk}: {ended:?}");
        assert_eq!(ended.stdout.contains("more lines"), !whole, "{risk}: {ended:?}");
    }
}

#[test]
fn yes_can_be_said_beforehand() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    let Some(ended) = at_a_terminal(&desk, &format!("--token {YOURS} reject --yes --reason no"), "") else { return };
    assert_eq!((ended.code, ended.stdout.contains("[y/N]")), (0, false), "{ended:?}");
}

#[test]
fn what_was_typed_before_the_question_does_not_answer_it() {
    let desk = Desk::new();
    let question = desk.say(&["ask", "Which region?", "--options", "eu,us"]);
    let gate = desk.say(&["gate", "open", "Deploy", "--risk", "critical"]);
    desk.say(&["halt", "agent", "builder", "--reason", "wait"]);
    let into_the_terminal = "--json approve < /dev/null > /dev/null";
    for verb in ["approve", into_the_terminal, "reject --reason no", "lift", "token create evil --role admin", "answer"]
    {
        let Some(mut talk) = Talk::begin(&desk, verb) else { return };
        talk.type_ahead("y\n1\n");
        talk.answer("\n\n");
        let (code, said) = talk.end();
        assert_ne!(code, 0, "{verb}: {said}");
    }
    assert_eq!(desk.json(&["gate", "show", &gate])["status"], "pending");
    assert_eq!(desk.json(&["question", "show", &question])["status"], "pending");
    assert!(!desk.say(&["token", "list"]).contains("evil"));
    assert_eq!(desk.run(&["clear", "builder"]).code, 6, "the halt stands");
}

/// Runs a verb in a pseudo-terminal, which `script` of util-linux makes, and types each line when
/// it asks for one. `None` where there is none.
pub(super) fn at_a_terminal(desk: &Desk, arguments: &str, typed: &str) -> Option<Ended> {
    let mut talk = Talk::begin(desk, arguments)?;
    talk.answer(typed);
    let (code, stdout) = talk.end();
    Some(Ended { code, stdout, stderr: String::new() })
}

/// A verb that goes on in a pseudo-terminal.
pub(super) fn in_a_terminal(desk: &Desk, arguments: &str) -> Option<Child> {
    in_a_terminal_with(desk, arguments, |_| {})
}

/// As [`in_a_terminal`], with what `prepare` adds to the command.
pub(super) fn in_a_terminal_with(desk: &Desk, arguments: &str, prepare: impl FnOnce(&mut Command)) -> Option<Child> {
    let known = Command::new("script").arg("--version").output();
    if !known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains("util-linux")) {
        eprintln!("skipped: no `script` of util-linux here, so no terminal to try");
        return None;
    }
    let executable = folkmoot(desk.path()).get_program().to_string_lossy().into_owned();
    let mut script = Command::new("script");
    clean(&mut script, desk.path()).args(["-qec", &format!("{executable} {arguments}"), "/dev/null"]);
    prepare(&mut script);
    Some(piped(script.stdin(Stdio::piped())))
}
