//! A question is asked only where somebody can answer it.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
};

use super::{Desk, Ended, finish, piped};
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

/// Runs a verb in a pseudo-terminal, which `script` of util-linux makes. `None` where there is
/// none.
pub(super) fn at_a_terminal(desk: &Desk, arguments: &str, typed: &str) -> Option<Ended> {
    let mut child = in_a_terminal(desk, arguments)?;
    // Kept open until it ends: the end of the input would be an answer too.
    let mut keys = child.stdin.take().expect("a pipe");
    keys.write_all(typed.as_bytes()).expect("it reads");
    let ended = finish(child);
    drop(keys);
    Some(ended)
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
