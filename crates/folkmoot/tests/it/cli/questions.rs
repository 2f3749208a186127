//! Lists of questions.

use super::Desk;
use crate::server::YOURS;

fn texts(desk: &Desk, arguments: &[&str]) -> Vec<String> {
    let list = desk.json(&[&["questions"], arguments].concat());
    let questions = list["questions"].as_array().expect("a list");
    questions.iter().map(|question| question["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn they_put_priority_first_and_can_be_narrowed() {
    let desk = Desk::new();
    desk.say(&["ask", "small", "--type", "preference", "--agent", "a1", "--session", "s1"]);
    desk.say(&["ask", "large", "--type", "emergency", "--agent", "a2"]);
    assert_eq!(texts(&desk, &[]), ["large", "small"]);
    assert_eq!(texts(&desk, &["--agent", "a1"]), ["small"]);
    assert_eq!(texts(&desk, &["--session", "s1"]), ["small"]);
    assert_eq!(texts(&desk, &["--limit", "1"]), ["large"]);
    desk.say(&["question", "skip", desk.questions(2)[0]["id"].as_str().unwrap()]);
    assert_eq!(texts(&desk, &[]), ["small"]);
    assert_eq!(texts(&desk, &["--status", "skipped"]), ["large"]);
    assert_eq!(texts(&desk, &["--all"]), ["large", "small"]);
    assert_eq!(texts(&desk, &["--as", "agent", "--all"]).len(), 2);
    let none = desk.run(&["questions", "--status", "denied"]);
    assert_eq!((none.code, none.stdout.as_str(), none.stderr.as_str()), (0, "", "There is no denied question.\n"));
    assert_eq!(desk.run(&["questions", "--status", "nonsense"]).code, 2);
}

#[test]
fn a_pipe_gets_plain_columns_with_whole_ids() {
    let desk = Desk::new();
    let id = desk.say(&["ask", "May I?", "--type", "approval", "--agent", "a1", "--session", "s1"]);
    let width = id.len();
    let wanted = format!(
        "{:width$}  STATUS   TYPE      AGENT        HALTS       TIME      TEXT\n\
         {id}  pending  APPROVAL  agent as a1  session s1  no limit  May I?",
        "QUESTION"
    );
    assert_eq!(desk.say(&["questions"]), wanted);
}

#[test]
fn what_an_agent_writes_cannot_move_the_cursor() {
    let desk = Desk::new();
    desk.say(&["ask", "harmless \u{1b}[2J\u{202e}\u{200b}text", "--default", "a\u{1b}[2Jb"]);
    let verbs = [
        &["questions"][..],
        &["question", "show"],
        &["status"],
        &["status", "--waiting"],
        &["answer", "--all-defaults", "-y"],
    ];
    for verb in verbs {
        let said = desk.say(verb);
        assert!(!said.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{verb:?}: {said}");
        assert!(said.contains("harmless \u{fffd}[2J<U+202E><U+200B>text"), "{verb:?}: {said}");
    }
}

#[test]
fn what_an_agent_asks_in_a_loop_hides_nothing_and_is_cancelled_with_one_command() {
    let desk = Desk::new();
    for n in 0..30 {
        desk.say(&["ask", &format!("Fire {n}!"), "--type", "EMERGENCY", "--agent", "siren"]);
    }
    let other = desk.say(&["token", "create", "builder", "--role", "agent"]);
    desk.say(&["--token", &other, "ask", "Which port?", "--type", "CLARIFYING"]);
    let status = desk.say(&["status"]);
    assert!(status.contains("Which port?"), "{status}");
    assert_eq!(status.lines().filter(|line| line.contains("Fire ")).count(), 24, "{status}");
    assert_eq!(desk.json(&["questions", "--asked-by", "agent"])["questions"].as_array().unwrap().len(), 30);
    let cancel = ["--token", YOURS, "question", "cancel", "--asked-by", "agent", "--reason", "it asks in a loop"];
    let cancelled = desk.say(&cancel);
    assert_eq!(cancelled, "cancelled 30 that agent asked");
    let left = desk.json(&["status"]);
    assert_eq!(left["questions"].as_array().unwrap().len(), 1, "{left}");
    assert_eq!(left["halts"]["system_halted"], false);
    let nothing = desk.run(&cancel);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""), "{nothing:?}");
}
