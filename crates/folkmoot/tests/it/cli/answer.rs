//! Answering, one by one and all with their defaults.

use std::io::{BufRead, BufReader, Write};

use super::{
    Desk, finish,
    prompt::{at_a_terminal, in_a_terminal},
    run,
};
use crate::server::{ALICE, ROBOT, Server, folkmoot_with};

#[test]
fn an_id_may_be_cut_to_a_unique_end_or_beginning() {
    let desk = Desk::new();
    let (first, second) = (desk.say(&["ask", "first"]), desk.say(&["ask", "second"]));
    let both = desk.run(&["answer", "question-", "yes"]);
    assert_eq!((both.code, both.stderr.contains("means 2 questions; say more of it")), (1, true), "{both:?}");
    let several = desk.run(&["deny"]);
    assert_eq!((several.code, several.stderr.contains("2 questions are waiting; say which")), (1, true), "{several:?}");
    let none = desk.run(&["answer", "zzz", "yes"]);
    assert_eq!((none.code, none.stderr.contains("is no recent question; `folkmoot questions`")), (1, true), "{none:?}");
    let said = desk.say(&["answer", &second[second.len() - 8..], "yes", "--reason", "why not"]);
    assert_eq!(said, format!("answered with yes: second {second}"));
    assert!(desk.say(&["deny", &first[..first.len() - 3]]).starts_with("denied: first"));
    let nothing = desk.run(&["deny"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (1, "error: no question is waiting\n"));
}

#[test]
fn whoever_takes_a_question_for_a_gate_is_told() {
    let desk = Desk::new();
    let (question, gate) = (desk.say(&["ask", "May I?", "--type", "approval"]), desk.say(&["gate", "open", "Deploy"]));
    let short = |id: &str| id[id.len() - 8..].to_owned();
    for id in [question.clone(), short(&question)] {
        let ended = desk.run(&["approve", &id]);
        assert_eq!((ended.code, ended.stderr.contains("is no gate but a question")), (1, true), "{ended:?}");
    }
    for id in [gate.clone(), short(&gate)] {
        let ended = desk.run(&["deny", &id]);
        assert_eq!((ended.code, ended.stderr.contains("is no question but a gate")), (1, true), "{ended:?}");
    }
}

#[test]
fn what_cannot_be_answered_so_is_refused_and_says_why() {
    let desk = Desk::new();
    let unknown = desk.run(&["answer", "question-1-0123456789abcdef", "yes"]);
    assert_eq!((unknown.code, unknown.stderr.contains("there is no question")), (1, true), "{unknown:?}");
    let id = desk.say(&["ask", "May I?", "--type", "approval"]);
    let unoffered = desk.run(&["answer", &id, "maybe"]);
    assert_eq!((unoffered.code, unoffered.stderr.contains("one of approve, deny")), (1, true), "{unoffered:?}");
    let silent = desk.run_with(&["answer", &id], "approve\n");
    assert_eq!((silent.code, silent.stderr.contains("say the answer")), (1, true), "{silent:?}");
    assert!(silent.stderr.contains("it is one of approve, deny"), "{silent:?}");
    let json = desk.run(&["answer", &id, "{", "--json-value"]);
    assert_eq!((json.code, json.stderr.contains("ANSWER is not JSON")), (1, true), "{json:?}");
    desk.say(&["answer", &id, "approve"]);
    let number = desk.say(&["ask", "How many?"]);
    assert!(desk.say(&["answer", &number, "-5", "--json-value"]).starts_with("answered with -5: "));
    for late in [&["answer", id.as_str(), "deny"][..], &["deny", &id], &["question", "skip", &id]] {
        let ended = desk.run(late);
        assert_eq!((ended.code, ended.stderr.contains("was already answered")), (1, true), "{late:?}: {ended:?}");
    }
}

#[test]
fn agents_do_not_answer_and_nobody_answers_what_they_asked() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    assert_eq!(say(&["--token", ROBOT, "ask", "Which colour?"]).code, 0);
    let refused = say(&["--token", ROBOT, "answer", "question-", "blue"]);
    assert_eq!((refused.code, refused.stderr.contains("may not answer")), (1, true), "{refused:?}");
    assert_eq!(say(&["--token", ALICE, "answer", "question-", "blue"]).code, 0);
    let id = say(&["ask", "Which one?", "--as", "you"]).stdout;
    let own = say(&["answer", id.trim(), "this"]);
    assert_eq!((own.code, own.stderr.contains("somebody else must answer it")), (1, true), "{own:?}");
}

#[test]
fn at_a_terminal_the_question_is_shown_and_answered_by_word_or_number() {
    let desk = Desk::new();
    desk.say(&["ask", "Which colour?", "--options", "red,blue"]);
    let Some(empty) = at_a_terminal(&desk, "answer", "\n") else { return };
    assert_eq!((empty.code, empty.stdout.contains("Nothing was answered.")), (4, true), "{empty:?}");
    let Some(ended) = at_a_terminal(&desk, "answer", "green\n3\n2\n") else { return };
    assert_eq!(ended.code, 0, "{ended:?}");
    for shown in ["Which colour?", "red", "Say one of the options, or its number.", "answered"] {
        assert!(ended.stdout.contains(shown), "{shown}: {ended:?}");
    }
    assert_eq!(desk.json(&["questions", "--all"])["questions"][0]["answer"], "blue");
    desk.say(&["ask", "Which name?"]);
    let Some(free) = at_a_terminal(&desk, "answer", "Folkmoot it is\n") else { return };
    assert_eq!(free.code, 0, "{free:?}");
    assert_eq!(desk.json(&["questions", "--all"])["questions"][0]["answer"], "Folkmoot it is");
}

/// One that can be answered with its default, and of those that cannot one of each sort.
fn a_mixture(desk: &Desk) -> String {
    let id = desk.say(&["ask", "Which colour?", "--default", "blue", "--agent", "a1"]);
    desk.say(&["ask", "Which name?", "--agent", "a2"]);
    desk.say(&["ask", "Which way?", "--type", "decision", "--default", "left"]);
    desk.say(&["ask", "May I?", "--type", "approval"]);
    id
}

#[test]
fn without_a_terminal_defaults_are_only_shown_unless_yes_was_said() {
    let desk = Desk::new();
    let id = a_mixture(&desk);
    let refused = desk.run_with(&["answer", "--all-defaults"], "y\n");
    assert_eq!((refused.code, refused.stderr.contains("--yes answers this question")), (1, true), "{refused:?}");
    let (ready, left_out) = refused.stdout.split_once("Left out").expect("some are left out");
    let row = ready.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row, [id.as_str(), "BLOCKING", "agent", "as", "a1", "blue", "Which", "colour?"], "{refused:?}");
    for why in ["it has no default", "DECISION is answered one by one", "APPROVAL is answered one by one"] {
        assert!(left_out.contains(why), "{why}: {refused:?}");
    }
    desk.questions(4);
    let said = desk.say(&["answer", "--all-defaults", "--yes"]);
    assert!(said.ends_with(&format!("\n{}  answered with blue", &id[id.len() - 8..])), "{said}");
    desk.questions(3);
    let again = desk.run(&["answer", "--all-defaults", "--yes"]);
    assert_eq!((again.code, again.stderr.contains("No question that waits has a default")), (0, true), "{again:?}");
}

#[test]
fn json_tells_what_happened_to_each() {
    let desk = Desk::new();
    let id = a_mixture(&desk);
    assert_eq!(desk.run(&["--json", "answer", "--all-defaults"]).code, 1);
    let outcome = desk.json(&["answer", "--all-defaults", "--yes", "--reason", "as usual"]);
    assert_eq!((&outcome["answered"][0]["id"], &outcome["answered"][0]["answer"]), (&id.into(), &"blue".into()));
    assert_eq!(outcome["answered"][0]["closed"]["reason"], "as usual");
    assert_eq!(outcome["left_out"].as_array().map(Vec::len), Some(3), "{outcome}");
    assert_eq!((&outcome["closed_meanwhile"], &outcome["refused"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn one_that_is_refused_does_not_keep_the_others_from_being_answered() {
    let desk = Desk::new();
    desk.say(&["ask", "mine", "--as", "you", "--default", "a", "--priority", "critical"]);
    desk.say(&["ask", "theirs", "--default", "b"]);
    let ended = desk.run(&["answer", "--all-defaults", "--yes"]);
    assert_eq!((ended.code, ended.stdout.contains("somebody else must answer it")), (1, true), "{ended:?}");
    assert!(ended.stdout.ends_with("answered with b\n"), "{ended:?}");
    assert_eq!(desk.questions(1)[0]["text"], "mine");
}

#[test]
fn at_a_terminal_the_defaults_are_shown_and_only_yes_is_yes() {
    let desk = Desk::new();
    a_mixture(&desk);
    let Some(no) = at_a_terminal(&desk, "answer --all-defaults", "\n") else { return };
    assert_eq!((no.code, no.stdout.contains("Nothing was answered.")), (4, true), "{no:?}");
    desk.questions(4);
    let Some(yes) = at_a_terminal(&desk, "answer --all-defaults", "y\n") else { return };
    assert_eq!(yes.code, 0, "{yes:?}");
    for shown in ["Which colour?", "Left out", "Answer this question so? [y/N]", "answered"] {
        assert!(yes.stdout.contains(shown), "{shown}: {yes:?}");
    }
    desk.questions(3);
}

#[test]
fn one_that_was_answered_meanwhile_is_told_and_the_others_are_answered() {
    let desk = Desk::new();
    let first = desk.say(&["ask", "first", "--default", "a", "--priority", "critical"]);
    desk.say(&["ask", "second", "--default", "b"]);
    let Some(mut child) = in_a_terminal(&desk, "answer --all-defaults") else { return };
    let mut keys = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(Result::unwrap);
    lines.by_ref().find(|line| line.contains("second")).expect("it shows both");
    desk.say(&["answer", &first, "another"]);
    desk.say(&["ask", "third", "--default", "c"]);
    keys.write_all(b"y\n").expect("it reads");
    let rest: Vec<_> = lines.collect();
    let told = rest.iter().find(|line| line.contains("not answered:")).unwrap_or_else(|| panic!("{rest:#?}"));
    assert!(told.contains("was already answered"), "{told}");
    assert_eq!(finish(child).code, 0, "{rest:#?}");
    let left = desk.questions(1);
    assert_eq!(left[0]["text"], "third", "it was not shown, so it was not answered");
}

#[test]
fn whoever_says_only_the_answer_is_told_how_to_say_it() {
    let desk = Desk::new();
    desk.say(&["ask", "May I?"]);
    let ended = desk.run(&["answer", "yes"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stderr.contains("name the question before it: `folkmoot answer QUESTION yes`"), "{ended:?}");
}
