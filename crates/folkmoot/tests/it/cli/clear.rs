//! May this agent work?

use std::{path::Path, process::Command};

use super::{Desk, Terminal, run};
use crate::server::{Server, clean, folkmoot, folkmoot_with, signal};

/// What a shell script makes of `clear`.
fn script(desk: &Desk, clear: &str) -> String {
    let executable = Path::new(env!("CARGO_BIN_EXE_folkmoot"));
    let mut shell = Command::new("sh");
    let text =
        format!("if {} clear {clear} > /dev/null; then echo works; else echo stops with $?; fi", executable.display());
    let ended = run(clean(&mut shell, desk.path()).args(["-c", &text]));
    ended.stdout.trim_end().to_owned()
}

#[test]
fn a_shell_script_works_or_stops() {
    assert_eq!(script(&Desk::empty(), "a1 --session s1"), "stops with 1", "nothing is there that could know");
    let desk = Desk::new();
    assert_eq!(script(&desk, "a1 --session s1"), "works");
    let halt = desk.say(&["halt", "agent", "a1", "--reason", "too fast"]);
    assert_eq!(script(&desk, "a1"), "stops with 6");
    assert_eq!(script(&desk, "a2"), "works");
    assert_eq!(script(&desk, "a1 --wait --timeout 50ms"), "stops with 5");
    desk.say(&["lift", &halt]);
    assert_eq!(script(&desk, "a1"), "works");
    desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1", "--session", "s1"]);
    assert_eq!(script(&desk, "a1"), "stops with 6");
    assert_eq!(script(&desk, "a2 --session s1"), "stops with 6");
    assert_eq!(script(&desk, "a2"), "works");
    desk.say(&["deny"]);
    assert_eq!(script(&desk, "a2 --session s1"), "works");
    assert_eq!(script(&desk, "a1"), "stops with 6", "it has not heard the denial yet");
    assert_eq!(script(&desk, "a1 --wait"), "stops with 3");
    assert_eq!(script(&desk, "a1 --wait"), "stops with 3");
    assert_eq!(script(&desk, "'two words'"), "stops with 2");
    assert_eq!(script(&desk, "''"), "stops with 2");
    assert_eq!(script(&desk, "a1 --wait --timeout 0s"), "stops with 2");
}

#[test]
fn it_says_clear_or_what_halts_the_oldest_first() {
    let desk = Desk::new();
    desk.say(&["status"]);
    assert_eq!(desk.say(&["clear", "a1"]), "clear");
    let question = desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1", "--session", "s1"]);
    let halt = desk.say(&["halt", "all", "--reason", "the disk is full"]);
    let ended = desk.run(&["clear", "a1"]);
    let rows: Vec<Vec<_>> = ended.stdout.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..4], [question.as_str(), "APPROVAL", "session", "s1"], "{ended:?}");
    assert_eq!(rows[1][..3], [halt.as_str(), "halt", "all"], "{ended:?}");
    assert!(ended.stdout.trim_end().ends_with("the disk is full"), "{ended:?}");
    let json = desk.run(&["--json", "clear", "a1"]);
    assert_eq!((json.code, json.stderr.as_str()), (6, ""));
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&json["can_proceed"], &json["blocked_by"][1]["id"]), (&false.into(), &halt.into()));
}

#[test]
fn the_tokens_own_name_is_meant_where_none_is_given() {
    let desk = Desk::new();
    desk.say(&["ask", "May I?"]);
    assert_eq!(desk.run(&["clear"]).code, 6);
    assert_eq!(desk.run(&["clear", "agent"]).code, 6);
    assert_eq!(desk.run(&["clear", "another"]).code, 0);
}

#[test]
fn a_waiter_is_cleared_by_the_last_thing_that_covered_it_and_is_told_the_answers() {
    let desk = Desk::new();
    let question = desk.say(&["ask", "Which colour?", "--agent", "a1"]);
    desk.say(&["halt", "all", "--reason", "the disk is full"]);
    let mut waiter = desk.spawn(&["clear", "a1", "--wait"]);
    desk.say(&["answer", "question-", "blue", "--reason", "calm"]);
    assert!(!waiter.has_ended(), "the halt still covers it");
    desk.say(&["lift"]);
    let ended = waiter.finish();
    assert_eq!((ended.code, ended.stdout), (0, format!("clear\n{question} answered blue: calm\n")));
}

#[test]
fn a_denial_ends_the_wait_but_clears_nobody() {
    // Several times: the verb that denies is the server too, sometimes, and takes the waiter's
    // connection with it.
    for _ in 0..4 {
        let desk = Desk::new();
        let question = desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1"]);
        let mut waiter = desk.spawn(&["clear", "a1", "--wait"]);
        let told = waiter.errors().next().expect("it says why it waits").expect("text");
        assert_eq!(told, format!("Halted by {question} (APPROVAL); waiting."));
        desk.say(&["deny", "--reason", "not on a Friday"]);
        let ended = waiter.finish();
        assert_eq!((ended.code, ended.stdout), (3, format!("{question} denied: not on a Friday\n")));
    }
}

#[test]
fn a_denial_that_went_down_with_the_server_is_still_a_no() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(&path, arguments));
    assert_eq!(say(&["ask", "May I?", "--type", "approval", "--agent", "a1"]).code, 0);
    let mut waiter = Terminal::new(folkmoot(&path).args(["clear", "a1", "--wait"]));
    waiter.errors().next().expect("it waits").expect("text");
    let data = server.kill();
    assert_eq!(say(&["deny"]).code, 0);
    // Somebody with the same token hears it first.
    assert_eq!(say(&["clear", "a1", "--wait"]).code, 3);
    let server = Server::start_in(data);
    assert_eq!(waiter.finish().code, 3);
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_waiter_outlives_the_server() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(&path, arguments));
    assert_eq!(say(&["halt", "agent", "a1", "--reason", "too fast"]).code, 0);
    let mut waiter = Terminal::new(folkmoot(&path).args(["clear", "a1", "--wait"]));
    waiter.errors().next().expect("it waits").expect("text");
    let server = Server::start_in(server.kill());
    assert_eq!(say(&["lift"]).code, 0);
    let ended = waiter.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "clear\n"), "{ended:?}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn ctrl_c_is_not_clearance() {
    let desk = Desk::new();
    desk.say(&["halt", "all", "--reason", "the disk is full"]);
    let mut waiter = desk.spawn(&["clear", "a1", "--wait"]);
    waiter.errors().next().expect("it waits").expect("text");
    // It takes signals from just after it has said so.
    std::thread::sleep(std::time::Duration::from_millis(200));
    signal(waiter.pid(), "INT");
    assert_eq!(waiter.finish().code, 6);
}

#[test]
fn a_folder_in_which_nothing_ever_was_clears_nobody() {
    let data = tempfile::tempdir().expect("a temporary folder");
    let typo = data.path().join("typo");
    for arguments in [vec!["clear", "a1"], vec!["clear", "a1", "--wait"]] {
        let ended = run(folkmoot(&typo).args(&arguments));
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains("nobody can say whether an agent may work"), "{ended:?}");
    }
    assert!(!typo.exists(), "asking makes nothing");
}

#[test]
fn a_denial_is_told_again_until_its_question_was_read() {
    let desk = Desk::new();
    let question = desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1"]);
    desk.say(&["deny"]);
    for _ in 0..3 {
        let ended = desk.run(&["clear", "a1", "--wait"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (3, format!("{question} denied\n").as_str()), "{ended:?}");
        assert!(ended.stderr.contains(&format!("question show {question} --as agent")), "{ended:?}");
    }
    desk.say(&["question", "show", &question]);
    assert_eq!(desk.run(&["clear", "a1"]).code, 6, "you are not the asker");
    desk.say(&["question", "show", &question, "--as", "agent"]);
    assert_eq!(desk.run(&["clear", "a1"]).code, 0);
}

/// Whoever looks for the way out is told it by each verb that they may try.
#[test]
fn a_denied_agent_is_released_by_question_cancel_and_lift_says_so() {
    let desk = Desk::new();
    let question = desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1"]);
    desk.say(&["deny"]);
    assert_eq!(desk.run(&["clear", "a1"]).code, 6);
    let lift = desk.run(&["lift"]);
    assert_eq!(lift.code, 1, "{lift:?}");
    assert!(lift.stderr.contains("question cancel"), "{lift:?}");
    let cancel = desk.run(&["question", "cancel", &question, "--reason", "it is gone", "-y"]);
    assert_eq!(cancel.code, 0, "{cancel:?}");
    assert!(cancel.stderr.contains("does not halt a1 any more"), "{cancel:?}");
    assert_eq!(desk.run(&["clear", "a1"]).code, 0);
}
