//! A person's decision is a person's: deciding with the token that the data folder keeps.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::{Desk, Ended, piped, prompt::at_a_terminal, run, talk::Talk};
use crate::server::{YOURS, folkmoot};

/// A verb as an agent of the same account runs it: with the folder's own token, and without any
/// terminal. `None` where there is no `setsid` to take the terminal away from it.
pub(super) fn without_a_terminal(data: &Path, arguments: &[&str]) -> Option<Ended> {
    if Command::new("setsid").arg("--version").output().is_err() {
        eprintln!("skipped: no `setsid` of util-linux here, so the terminal of this test cannot be taken away");
        return None;
    }
    let plain = folkmoot(data);
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(plain.get_program()).args(arguments).stdin(Stdio::null());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Some(run(&mut command))
}

#[test]
fn a_verb_that_serves_itself_makes_no_token_for_whoever_runs_it() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Drop the table"]);
    for role in ["admin", "reviewer", "agent+halt"] {
        let tokens = format!("{role}:eve=eves-token-0123456789");
        let mut verb = folkmoot(desk.path());
        verb.args(["approve", "--yes"]).env("FOLKMOOT_BOOTSTRAP_TOKENS", &tokens);
        let refused = run(verb.env("FOLKMOOT_TOKEN", "eves-token-0123456789"));
        assert_eq!(refused.code, 1, "{role}: {refused:?}");
        assert!(refused.stderr.contains("token"), "{role}: {refused:?}");
    }
    desk.pending(1);
}

#[test]
fn the_stored_token_decides_nothing_without_a_terminal() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Drop the table", "--risk", "critical"]);
    let question = desk.say(&["ask", "May I?", "--type", "APPROVAL"]);
    let tries: [&[&str]; 9] = [
        &["approve"],
        &["approve", "--yes"],
        &["approve", "--force", "--reason", "now"],
        &["reject", "--reason", "no"],
        &["answer", &question, "approve"],
        &["deny", &question, "--yes"],
        &["halt", "all", "--reason", "stop"],
        &["token", "create", "eve", "--role", "admin"],
        &["--json", "approve"],
    ];
    for arguments in tries {
        let Some(refused) = without_a_terminal(desk.path(), arguments) else { return };
        assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{arguments:?}: {refused:?}");
        for said in ["no terminal", "folkmoot token create NAME --role reviewer", "FOLKMOOT_TOKEN"] {
            assert!(refused.stderr.contains(said), "{arguments:?}, {said}: {refused:?}");
        }
    }
    desk.pending(1);
    desk.questions(1);
    // A script that somebody made a token for decides.
    let decided = desk.json(&["approve"]);
    assert_eq!((&decided["decision"]["presence"], &decided["decision"]["reviewer"]), (&"token".into(), &"you".into()));
}

#[test]
fn at_a_terminal_the_answer_is_recorded_as_typed_there() {
    let desk = Desk::new();
    let id = desk.say(&["gate", "open", "Deploy"]);
    let Some(ended) = at_a_terminal(&desk, "approve", "y\n") else { return };
    assert_eq!((ended.code, ended.stdout.contains("approved")), (0, true), "{ended:?}");
    assert_eq!(desk.json(&["gate", "show", &id])["decision"]["presence"], "terminal");
    let shown = desk.say(&["gate", "show", &id]);
    assert!(shown.contains("at a terminal"), "{shown}");
}

#[test]
fn whoever_sends_the_output_elsewhere_is_asked_at_the_terminal() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy", "--title", "Deploy it"]);
    let Some(mut talk) = Talk::begin(&desk, "--json approve < /dev/null > /dev/null") else { return };
    talk.when("Approve this? [y/N]", "y\n");
    let (code, said) = talk.end();
    assert_eq!((code, said.contains("Deploy it")), (0, true), "{said}");
    desk.pending(0);
}

#[test]
fn yes_beforehand_does_not_count_for_the_stored_token() {
    let desk = Desk::new();
    desk.say(&["gate", "open", "Deploy"]);
    let Some(ended) = at_a_terminal(&desk, "approve --yes", "") else { return };
    assert_eq!((ended.code, ended.stdout.contains("--yes does not count")), (1, true), "{ended:?}");
    desk.pending(1);
}

#[test]
fn an_agent_that_waits_is_not_told_how_to_decide() {
    let desk = Desk::new();
    let waits = desk.run(&["gate", "open", "Deploy", "--wait", "--wait-timeout", "1ms"]);
    assert!(waits.stderr.contains("Somebody who may decide must do so"), "{waits:?}");
    let asks = desk.run(&["ask", "Which?", "--type", "DECISION", "--wait", "--wait-timeout", "1ms"]);
    assert!(asks.stderr.contains("Somebody who may decide must do so"), "{asks:?}");
    for said in ["approve", "reject", "answer ", "deny"] {
        assert!(!waits.stderr.contains(said) && !asks.stderr.contains(said), "{said}: {waits:?} {asks:?}");
    }
    let Some(mut talk) = Talk::begin(&desk, "gate open Deploy --wait --wait-timeout 1ms") else { return };
    talk.when(" approve ", "");
    talk.end();
}

#[test]
fn doctor_says_how_it_is_set_up() {
    let desk = Desk::new();
    desk.say(&["status"]);
    assert_eq!(desk.json(&["doctor"])["set_up"], "same_user");
    assert!(desk.say(&["doctor"]).contains("same user, without protection"));
    let mut remote = folkmoot(desk.path());
    remote.args(["--url", "http://127.0.0.1:9", "--token", YOURS, "--json", "doctor"]);
    let remote = super::finish(piped(&mut remote));
    assert!(remote.stdout.contains("\"remote\""), "{remote:?}");
}
