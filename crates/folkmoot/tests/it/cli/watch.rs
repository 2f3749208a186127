//! The feed in a terminal.

use serde_json::Value;

use super::{Desk, Terminal, talk::Talk};
use crate::server::{Server, folkmoot, folkmoot_with, signal};

#[test]
fn every_event_is_one_line() {
    let server = Server::start();
    let path = server.data.path();
    let mut watch = Terminal::new(folkmoot(path).args(["watch", "--after", "0"]));
    let mut lines = watch.lines().map(Result::unwrap);
    super::run(folkmoot(path).args(["gate", "open", "Deploy 1.4.2", "--risk", "high"]));
    super::run(&mut folkmoot_with(path, &["reject", "--reason", "not on a Friday"]));
    let opened = lines.by_ref().find(|line| line.contains("gate.opened")).unwrap();
    assert!(opened.ends_with("high: Deploy 1.4.2"), "{opened}");
    let decided = lines.next().unwrap();
    assert!(decided.contains("gate.decided") && decided.ends_with("rejected: not on a Friday"), "{decided}");
    signal(watch.pid(), "INT");
    assert_eq!(watch.finish().code, 0);
}

#[test]
fn a_long_event_is_wrapped_between_words() {
    const WORD: &str = "incomprehensibilities";
    let desk = Desk::new();
    desk.say(&["gate", "open", &format!("{} at-last", [WORD; 12].join(" "))]);
    let Some(mut talk) = Talk::begin(&desk, "watch --after 0") else { return };
    talk.when("at-last", "\u{3}");
    let (_, said) = talk.end();
    for line in said.lines().filter(|line| line.contains("incomp")) {
        assert!(line.chars().count() < 140, "100 columns and colours: {line}");
        assert!(!WORD.starts_with(line.split(' ').next_back().unwrap().trim_end()) || line.trim_end().ends_with(WORD));
    }
}

#[test]
fn a_watcher_misses_nothing_while_its_server_is_away() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let mut watch = Terminal::new(folkmoot(&path).args(["--json", "watch", "--after", "0"]));
    let mut positions = watch.lines().map(|line| {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        event["position"].as_u64().unwrap()
    });
    assert_eq!(positions.next(), Some(1));
    let data = server.kill();
    super::run(folkmoot(&path).args(["gate", "open", "meanwhile"]));
    let _server = Server::start_in(data);
    super::run(folkmoot(&path).args(["gate", "open", "later"]));
    let last = super::run(folkmoot(&path).args(["--json", "audit", "verify"])).stdout;
    let last = serde_json::from_str::<Value>(&last).unwrap()["events"].as_u64().unwrap();
    let seen: Vec<u64> = positions.by_ref().take_while(|position| *position < last).collect();
    assert_eq!((seen, last), ((2..last).collect(), 9), "7 tokens and 2 gates");
}

#[test]
fn questions_and_halts_are_told_in_words() {
    let server = Server::start();
    let path = server.data.path();
    let say = |arguments: &[&str]| {
        let ended = super::run(&mut folkmoot_with(path, arguments));
        assert_eq!(ended.code, 0, "{arguments:?}: {ended:?}");
    };
    say(&["ask", "May I?", "--type", "approval", "--agent", "a1", "--session", "s1"]);
    say(&["halt", "agent", "a1", "--reason", "too fast"]);
    say(&["answer", "question-", "approve", "--reason", "tested"]);
    say(&["lift"]);
    say(&["ask", "Which way?", "--type", "clarifying"]);
    say(&["deny", "--reason", "neither"]);
    let mut watch = Terminal::new(folkmoot(path).args(["watch", "--after", "7"]));
    let lines = watch.lines().map(Result::unwrap).take(11);
    // Without position, time, and the end of the id.
    let told = |line: String| {
        let words: Vec<_> = line.split_whitespace().collect();
        let actor = words.iter().skip(4).position(|word| *word == "for").map_or(5, |_| 7);
        format!("{} | {}", words[2], words[actor..].join(" "))
    };
    let told: Vec<_> = lines.map(told).collect();
    signal(watch.pid(), "INT");
    let wanted = [
        "question.asked | APPROVAL (approve | deny), halts session s1: May I?",
        "agent.halted | agent a1 by APPROVAL",
        "session.halted | session s1 by APPROVAL",
        "halt.raised | agent a1: too fast",
        "agent.halted | agent a1",
        "question.answered | approve: tested",
        "session.resumed | session s1",
        "halt.lifted | ",
        "agent.resumed | agent a1",
        "question.asked | CLARIFYING, halts nobody: Which way?",
        "question.denied | neither",
    ];
    assert_eq!(told, wanted);
}
