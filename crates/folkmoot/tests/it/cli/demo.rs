//! The first minute.

use super::{Desk, prompt::at_a_terminal, talk::Talk};
use crate::server::{eventually, folkmoot};

/// Two letters are enough, also through a pipe.
#[test]
fn the_demo_debates_stops_at_two_gates_and_ends_with_code_and_its_log() {
    let desk = Desk::empty();
    let ended = desk.run_with(&["demo"], "a\na\n");
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    let said = ended.stdout;
    let gates = said.matches("[a]pprove, [r]eject, ad[j]ust, [d]etails, [q]uit?").count();
    assert_eq!(gates, 2, "{said}");
    for part in [
        "Three agents debate it",
        "self_evolvement",
        "tests ",
        "votes ",
        "'s answer wins:",
        "def parse_duration",
        "The debate went on when you let it.",
        "gate.opened",
        "gate.decided",
        "verified: ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains('\u{1b}'), "no colour in a pipe: {said}");
    assert!(std::fs::read_dir(desk.path()).expect("a folder").next().is_none(), "it leaves the data folder alone");
}

#[test]
fn at_a_terminal_it_asks() {
    let desk = Desk::new();
    let Some(mut talk) = Talk::begin(&desk, "demo") else { return };
    talk.when("[a]pprove, [r]eject, ad[j]ust, [d]etails, [q]uit?", "r\n");
    talk.when("Why not?", "it is only a demo\n");
    talk.when("The debate ended where you stopped it.", "");
    talk.when("verified: ", "");
    let (code, said) = talk.end();
    assert_eq!(code, 3, "{said}");
}

#[test]
fn the_commands_that_the_demo_shows_work_and_ctrl_c_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    let mut command = folkmoot(desk.path());
    let null = std::process::Stdio::null();
    let mut demo = super::Terminal::new(command.arg("demo").env("TMPDIR", temporary.path()).stdin(null));
    let mut lines = demo.lines();
    let shown = lines.by_ref().map(Result::unwrap).find(|line| line.trim_end().ends_with(" approve"));
    let shown = shown.expect("the demo says how to approve");
    let arguments = shown.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    if at_a_terminal(&desk, "--version", "").is_none() {
        return;
    }
    // Its first gate is not there at once.
    eventually("it waits, and is approved", || {
        at_a_terminal(&desk, &arguments, "y\n").filter(|ended| ended.code == 0).map(drop)
    });
    lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("approved by ")).expect("it goes on");
    crate::server::signal(demo.pid(), "INT");
    assert!(lines.map(Result::unwrap).any(|line| line.starts_with("Nothing was decided.")), "it says how it ends");
    eventually("it ends", || demo.has_ended().then_some(()));
    assert!(std::fs::read_dir(temporary.path()).unwrap().next().is_none());
}

/// Whoever closes the window leaves nothing behind either.
#[test]
fn a_demo_whose_terminal_is_gone_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    let mut command = folkmoot(desk.path());
    let mut demo = super::Terminal::new(command.arg("demo").env("TMPDIR", temporary.path()));
    demo.lines().next().expect("it begins").unwrap();
    assert!(std::fs::read_dir(temporary.path()).unwrap().next().is_some());
    crate::server::signal(demo.pid(), "HUP");
    eventually("it ends", || demo.has_ended().then_some(()));
    assert!(std::fs::read_dir(temporary.path()).unwrap().next().is_none());
}

#[test]
fn a_demo_that_nobody_decides_times_out() {
    let desk = Desk::new();
    let ended = desk.run_with(&["demo", "--timeout", "200ms"], "");
    assert_eq!((ended.code, ended.stdout.contains("Silence is not consent")), (5, true), "{ended:?}");
    let played = desk.run(&["demo", "--decide", "reject"]);
    assert_eq!((played.code, played.stdout.contains("as it was told beforehand")), (3, true), "{played:?}");
}
