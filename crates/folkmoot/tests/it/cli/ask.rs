//! Asking people, and what a shell script learns from the answer.

use serde_json::Value;

use super::{Desk, Terminal, run};
use crate::server::{Server, folkmoot, folkmoot_with, signal};

/// Asks in one terminal, closes the question in another, and returns how the asker ended.
fn waits(ask: &[&str], close: &[&str]) -> (i32, String) {
    let desk = Desk::new();
    let waiter = desk.spawn(&[&["ask", "Which colour?", "--wait"], ask].concat());
    desk.questions(1);
    desk.say(close);
    let ended = waiter.finish();
    (ended.code, ended.stdout)
}

#[test]
fn the_answer_is_on_stdout_and_in_the_exit_code() {
    let printed = |answer: &str| (0, format!("{answer}\n"));
    assert_eq!(waits(&[], &["answer", "question-", "deep blue"]), printed("deep blue"));
    assert_eq!(waits(&["--options", "red,blue"], &["answer", "question-", "red"]), printed("red"));
    assert_eq!(waits(&[], &["answer", "question-", "--json-value", r#"{"r": 1}"#]), printed(r#"{"r":1}"#));
    assert_eq!(waits(&["--type", "approval"], &["answer", "question-", "approve"]), printed("approve"));
    let nothing = (3, String::new());
    assert_eq!(waits(&["--type", "approval"], &["answer", "question-", "deny"]), nothing);
    assert_eq!(waits(&[], &["deny", "--reason", "none of them"]), nothing);
    assert_eq!(waits(&[], &["question", "skip"]), nothing);
    assert_eq!(waits(&[], &["question", "cancel"]), nothing);
}

#[test]
fn who_answered_and_why_is_on_stderr() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["ask", "Which colour?", "--wait"]);
    desk.questions(1);
    desk.say(&["deny", "--reason", "none of them"]);
    let ended = waiter.finish();
    let lines: Vec<_> = ended.stderr.lines().collect();
    assert_eq!(lines[0], "Waiting for an answer: Which colour?");
    assert_eq!(lines[2].trim_start(), "Somebody who may decide must do so, with a token of theirs.", "{ended:?}");
    let told = lines.last().unwrap();
    assert!(told.starts_with("denied by ") && told.ends_with(": none of them"), "{ended:?}");
}

#[test]
fn a_timeout_answers_with_the_default_or_with_nothing() {
    let desk = Desk::new();
    let quick = ["ask", "Which colour?", "--type", "clarifying", "--timeout", "100ms", "--wait"];
    let with_default = desk.run(&[&quick[..], &["--default", "blue"]].concat());
    assert_eq!((with_default.code, with_default.stdout.as_str()), (0, "blue\n"), "{with_default:?}");
    let without = desk.run(&quick);
    assert_eq!((without.code, without.stdout.as_str()), (5, ""), "{without:?}");
    assert!(without.stderr.contains("without an answer"), "{without:?}");
    let id = desk.json(&["questions", "--all"])["questions"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["question", "wait", &id]).code, 5, "also for whoever comes later");
}

#[test]
fn a_wait_that_is_over_first_is_5_and_leaves_the_question_open() {
    let desk = Desk::new();
    let asked = desk.run(&["ask", "Which colour?", "--default", "blue", "--wait", "--wait-timeout", "100ms"]);
    assert_eq!((asked.code, asked.stdout.as_str()), (5, ""), "a waiter's own time applies no default: {asked:?}");
    let waited = desk.run(&["question", "wait", "--timeout", "50ms"]);
    assert_eq!(waited.code, 5, "{waited:?}");
    assert!(waited.stderr.contains("Waiting for an answer: Which colour?\n"), "{waited:?}");
    desk.questions(1);
}

#[test]
fn an_early_answer_is_found_by_whoever_waits_later() {
    let desk = Desk::new();
    let id = desk.say(&["ask", "Which colour?"]);
    desk.say(&["answer", &id[id.len() - 8..], "blue"]);
    assert_eq!(desk.say(&["question", "wait", &id]), "blue");
    assert_eq!(desk.say(&["question", "wait", &id[id.len() - 8..]]), "blue");
}

#[test]
fn ctrl_c_leaves_the_question_open() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["ask", "Which colour?", "--wait"]);
    desk.questions(1);
    signal(waiter.pid(), "INT");
    let ended = waiter.finish();
    assert_eq!((ended.code, ended.stderr.contains("question wait")), (4, true), "{ended:?}");
    desk.questions(1);
}

#[test]
fn whoever_asks_waits_through_the_death_of_the_server() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let waiter = Terminal::new(folkmoot(&path).args(["ask", "Which colour?", "--wait"]));
    crate::server::eventually("it asks", || {
        run(folkmoot(&path).args(["questions"])).stdout.contains("Which colour?").then_some(())
    });
    let data = server.kill();
    let server = Server::start_in(data);
    let answered = run(&mut folkmoot_with(&path, &["answer", "question-", "blue"]));
    assert_eq!(answered.code, 0, "{answered:?}");
    let ended = waiter.finish();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "blue\n"), "{ended:?}");
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_waiters_time_is_its_own_also_when_the_server_is_restarted() {
    let server = Server::start();
    let path = server.data.path().to_owned();
    let begun = std::time::Instant::now();
    let waiter = Terminal::new(folkmoot(&path).args(["ask", "x", "--wait", "--wait-timeout", "3s"]));
    crate::server::eventually("it asks", || {
        run(folkmoot(&path).args(["questions"])).stdout.contains("BLOCKING").then_some(())
    });
    // One that ends in an orderly way lets go of its waiters at once.
    signal(server.pid(), "TERM");
    let ended = waiter.finish();
    assert_eq!(ended.code, 5, "{ended:?}");
    assert!(begun.elapsed() >= std::time::Duration::from_secs(3), "it gave up after {:?}", begun.elapsed());
}

#[test]
fn everything_that_was_asked_for_reaches_the_server() {
    let desk = Desk::new();
    let asked = desk.json(&[
        "ask",
        "Which colour?",
        "--type",
        "Preference",
        "--agent",
        "a1",
        "--session",
        "s1",
        "--options",
        "red,blue",
        "--default",
        "blue",
        "--halts",
        "session",
        "--timeout",
        "10m",
        "--priority",
        "critical",
    ]);
    let wanted = [
        ("status", "pending"),
        ("agent_id", "a1"),
        ("session_id", "s1"),
        ("type", "PREFERENCE"),
        ("text", "Which colour?"),
        ("default", "blue"),
        ("halts", "session"),
        ("priority", "critical"),
        ("asked_by", "agent"),
    ];
    for (field, value) in wanted {
        assert_eq!(asked[field], value, "{field}: {asked}");
    }
    assert_eq!((&asked["options"], &asked["timeout_ms"]), (&serde_json::json!(["red", "blue"]), &600_000.into()));
    let usual = desk.json(&["ask", "Well?", "--timeout", "never"]);
    assert_eq!((&usual["type"], &usual["agent_id"]), (&"BLOCKING".into(), &"agent".into()));
    assert!(usual["deadline"].is_null() && usual["remind_at"].is_null(), "{usual}");
}

#[test]
fn asking_twice_with_one_key_asks_once() {
    let desk = Desk::new();
    let ask = ["ask", "Which colour?", "--idempotency-key", "colour-1"];
    assert_eq!(desk.say(&ask), desk.say(&ask));
    desk.questions(1);
}

#[test]
fn what_cannot_be_asked_is_refused_and_says_why() {
    let desk = Desk::new();
    let refused = [
        (
            &["x", "--type", "approval", "--default", "approve"][..],
            1,
            "silence never answers a question of type APPROVAL",
        ),
        (&["x", "--type", "emergency", "--default", "go on"], 1, "silence never answers"),
        (&["x", "--options", "a,b", "--default", "c"], 1, "is not one of the options"),
        (&["x", "--halts", "session"], 1, "must say which session"),
        (&[""], 1, "text is empty"),
        (&["x", "--agent", ""], 2, "is no name"),
        (&["x", "--agent", "two words"], 2, "is no name"),
        (&["x", "--timeout", "0s"], 2, "is no time at all"),
        (&["x", "--type", "nonsense"], 2, "possible values: BLOCKING"),
        (&["x", "--wait-timeout", "1s"], 2, "--wait"),
        (&[], 2, "<TEXT>"),
    ];
    for (arguments, code, told) in refused {
        let ended = desk.run(&[&["ask"], arguments].concat());
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(told), "{arguments:?}: {ended:?}");
    }
    desk.questions(0);
}

#[test]
fn json_is_the_question_alone() {
    let desk = Desk::new();
    let waiter = desk.spawn(&["--json", "ask", "Which colour?", "--wait"]);
    desk.questions(1);
    desk.say(&["answer", "question-", "blue"]);
    let ended = waiter.finish();
    let question: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&question["answer"], ended.stderr.as_str()), (&"blue".into(), ""), "{ended:?}");
    assert_eq!(desk.json(&["question", "show", question["id"].as_str().unwrap()]), question);
}
