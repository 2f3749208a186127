//! The first minute.

use super::{Desk, run};
use crate::server::{eventually, folkmoot};

/// What the demo says, without what differs from one time to the next.
fn demo(decide: &str) -> (i32, Vec<String>) {
    let desk = Desk::new();
    let ended = desk.run(&["demo", "--decide", decide]);
    assert_eq!(ended.stderr, "");
    assert!(std::fs::read_dir(desk.path()).expect("a folder").next().is_none(), "it leaves the data folder alone");
    (ended.code, ended.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn the_demo_can_play_both_sides() {
    for (decide, code, follows) in
        [("approve", 0, "The agent was woken and goes on."), ("reject", 3, "The agent was woken and does not go on.")]
    {
        let (exit, lines) = demo(decide);
        assert_eq!(exit, code, "{lines:#?}");
        let said = lines.join("\n");
        for part in ["change.diff", "tests.txt", "gate.opened", "gate.decided", "verified: 4 events", follows] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains('\u{1b}'), "no colour in a pipe: {said}");
    }
}

#[test]
fn the_commands_that_the_demo_shows_work() {
    let desk = Desk::new();
    let mut demo = desk.spawn(&["demo"]);
    let mut lines = demo.lines();
    let shown = lines.by_ref().map(Result::unwrap).find(|line| line.trim_end().ends_with(" approve"));
    let shown = shown.expect("the demo says how to approve");
    let arguments: Vec<&str> = shown.split_whitespace().skip(1).collect();
    let approved = run(folkmoot(desk.path()).args(&arguments));
    assert_eq!(approved.code, 0, "{approved:?}");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(rest.iter().any(|line| line.starts_with("approved by ")), "{rest:#?}");
    assert_eq!(demo.finish().code, 0);
}

#[test]
fn a_demo_that_nobody_decides_times_out() {
    let desk = Desk::new();
    let ended = desk.run(&["demo", "--timeout", "200ms"]);
    assert_eq!((ended.code, ended.stdout.contains("Silence is not consent")), (5, true), "{ended:?}");
}

#[test]
fn ctrl_c_ends_the_demo_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    let mut demo = super::Terminal::new(folkmoot(desk.path()).arg("demo").env("TMPDIR", temporary.path()));
    let mut lines = demo.lines();
    lines.by_ref().map(Result::unwrap).find(|line| line.contains("curl")).expect("it waits");
    crate::server::signal(demo.pid(), "INT");
    eventually("it ends", || demo.has_ended().then_some(()));
    assert!(std::fs::read_dir(temporary.path()).unwrap().next().is_none());
}
