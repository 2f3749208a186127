//! Denying, skipping and cancelling.

use super::{Desk, prompt::at_a_terminal};
use crate::server::YOURS;

#[test]
fn each_verb_closes_the_question_with_its_own_word() {
    let desk = Desk::new();
    let verbs = [(&["deny"][..], "denied"), (&["question", "skip"], "skipped"), (&["question", "cancel"], "cancelled")];
    for (verb, word) in verbs {
        let id = desk.say(&["ask", "May I?", "--type", "approval"]);
        assert_eq!(desk.say(&[verb, &["--reason", "so"]].concat()), format!("{word}: May I? {id}"));
        let shown = desk.json(&["question", "show", &id]);
        assert_eq!((&shown["status"], &shown["closed"]["reason"]), (&word.into(), &"so".into()));
        let told = desk.say(&["question", "show", &id[id.len() - 8..]]);
        assert!(
            told.contains("May I?") && told.contains(&format!("\n\n{word} by ")) && told.ends_with(": so"),
            "{told}"
        );
        assert_eq!(desk.json(&["ask", "x"])["status"], "pending");
        assert_eq!(desk.json(verb)["status"], word);
    }
}

#[test]
fn whoever_asked_withdraws_only_what_halts_nobody() {
    let desk = Desk::new();
    desk.say(&["ask", "Which name?", "--type", "clarifying"]);
    assert!(desk.say(&["question", "cancel", "--as", "agent"]).starts_with("cancelled: "));
    desk.say(&["ask", "May I?"]);
    for verb in ["skip", "cancel"] {
        let refused = desk.run(&["question", verb, "--as", "agent"]);
        assert_eq!((refused.code, refused.stderr.contains("only a reviewer may")), (1, true), "{refused:?}");
    }
    desk.questions(1);
}

#[test]
fn at_a_terminal_the_question_is_shown_first() {
    let desk = Desk::new();
    desk.say(&["ask", "May I?", "--type", "approval"]);
    let Some(no) = at_a_terminal(&desk, "deny", "\n") else { return };
    assert_eq!((no.code, no.stdout.contains("It goes on waiting.")), (4, true), "{no:?}");
    desk.questions(1);
    let Some(yes) = at_a_terminal(&desk, "deny", "y\n") else { return };
    assert_eq!((yes.code, yes.stdout.contains("Deny this? [y/N]")), (0, true), "{yes:?}");
    desk.say(&["ask", "May I now?"]);
    let Some(said) = at_a_terminal(&desk, &format!("--token {YOURS} question skip --yes"), "") else { return };
    assert_eq!((said.code, said.stdout.contains("[y/N]")), (0, false), "{said:?}");
}
